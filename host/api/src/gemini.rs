//! Members of Gemini that have two spellings. Google's libraries write either, and read either.

/// A member in both of its spellings: camel case first.
pub type Spelled = [&'static str; 2];

/// The system prompt.
pub const SYSTEM: Spelled = ["systemInstruction", "system_instruction"];
/// What the server stored of an earlier request.
pub const CACHED: Spelled = ["cachedContent", "cached_content"];
/// A call of a function in a part.
pub const CALL: Spelled = ["functionCall", "function_call"];
/// The result of a call in a part.
pub const RESULT: Spelled = ["functionResponse", "function_response"];
/// The functions of a tool.
pub const FUNCTIONS: Spelled = ["functionDeclarations", "function_declarations"];
/// How tools are called.
pub const TOOL_CONFIG: Spelled = ["toolConfig", "tool_config"];
/// How functions are called, within that.
pub const CALLING: Spelled = ["functionCallingConfig", "function_calling_config"];
/// The functions that may be called, within that.
pub const ALLOWED: Spelled = ["allowedFunctionNames", "allowed_function_names"];
/// What the answer is to be like.
pub const GENERATION: Spelled = ["generationConfig", "generation_config"];
/// The media type of data.
pub const MEDIA_TYPE: Spelled = ["mimeType", "mime_type"];
/// The provider's signature over a part.
pub const SIGNATURE: Spelled = ["thoughtSignature", "thought_signature"];
/// A whole request that is to be counted.
pub const WRAPPED: Spelled = ["generateContentRequest", "generate_content_request"];
