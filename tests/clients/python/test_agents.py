"""A team of agents behind the base URL: a client runs the tool of an agent two levels down, as its package would run any."""

import json
import unittest

import anthropic
import openai

import stage

NOTE = "NOTE-4711"
QUESTION = "What does notes.txt say?"
SAID = f"The file says {NOTE}."
PARAMETERS = {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]}


def read_file(arguments):
    assert arguments == {"path": "notes.txt"}, arguments
    return f"{NOTE} stands here."


class Team(unittest.TestCase):
    def test_chat_completions(self):
        client = openai.OpenAI(base_url=stage.TEAM + "/agents/v1", api_key="none")
        self.addCleanup(client.close)
        tools = [{"type": "function", "function": {"name": "read_file", "parameters": PARAMETERS}}]
        for streams in (False, True):
            with self.subTest(streams=streams):
                messages = [{"role": "user", "content": QUESTION}]

                def ask():
                    asked = {"model": "sample", "messages": messages, "tools": tools}
                    if not streams:
                        return client.chat.completions.create(**asked).choices[0].message
                    with client.chat.completions.stream(**asked) as stream:
                        return stream.get_final_completion().choices[0].message

                message = ask()
                (call,) = message.tool_calls
                self.assertEqual(call.function.name, "read_file")
                result = read_file(json.loads(call.function.arguments))
                called = {"name": call.function.name, "arguments": call.function.arguments}
                messages += [
                    {
                        "role": "assistant",
                        "content": message.content,
                        "tool_calls": [{"id": call.id, "type": "function", "function": called}],
                    },
                    {"role": "tool", "tool_call_id": call.id, "content": result},
                ]
                self.assertEqual(ask().content, SAID)

    def test_responses(self):
        client = openai.OpenAI(base_url=stage.TEAM + "/agents/v1", api_key="none")
        self.addCleanup(client.close)
        tools = [{"type": "function", "name": "read_file", "parameters": PARAMETERS, "strict": False}]
        for streams in (False, True):
            with self.subTest(streams=streams):
                asked = [{"role": "user", "content": QUESTION}]

                def ask():
                    request = {"model": "sample", "input": asked, "tools": tools}
                    if not streams:
                        return client.responses.create(**request)
                    with client.responses.stream(**request) as stream:
                        return stream.get_final_response()

                (call,) = [item for item in ask().output if item.type == "function_call"]
                result = read_file(json.loads(call.arguments))
                asked += [
                    {"type": "function_call", "call_id": call.call_id, "name": call.name, "arguments": call.arguments},
                    {"type": "function_call_output", "call_id": call.call_id, "output": result},
                ]
                self.assertEqual(ask().output_text, SAID)

    def test_messages(self):
        client = anthropic.Anthropic(base_url=stage.TEAM + "/agents", api_key="none")
        self.addCleanup(client.close)
        tools = [{"name": "read_file", "input_schema": PARAMETERS}]
        for streams in (False, True):
            with self.subTest(streams=streams):
                messages = [{"role": "user", "content": QUESTION}]

                def ask():
                    asked = {"model": "sample", "max_tokens": 64, "messages": messages, "tools": tools}
                    if not streams:
                        return client.messages.create(**asked)
                    with client.messages.stream(**asked) as stream:
                        return stream.get_final_message()

                message = ask()
                (call,) = [block for block in message.content if block.type == "tool_use"]
                self.assertEqual((call.name, message.stop_reason), ("read_file", "tool_use"))
                called = {"type": "tool_use", "id": call.id, "name": call.name, "input": call.input}
                result = {"type": "tool_result", "tool_use_id": call.id, "content": read_file(call.input)}
                messages += [{"role": "assistant", "content": [called]}, {"role": "user", "content": [result]}]
                said = [block.text for block in ask().content if block.type == "text"]
                self.assertEqual("".join(said), SAID)


if __name__ == "__main__":
    unittest.main()
