"""Talks to a model through the gate with the official `openai` package; only its base URL differs.

    pip install openai
    cargo run -p leafgate -- run --upstream echo:          # in another terminal
    python examples/clients/openai_python.py "My card is 4539 5787 6362 1486"
"""

import os
import sys

import openai

client = openai.OpenAI(
    base_url=os.environ.get("LEAFGATE_URL", "http://127.0.0.1:4141") + "/v1",
    api_key=os.environ.get("OPENAI_API_KEY", "none"),
)
text = sys.argv[1] if len(sys.argv) > 1 else "Say hello."

try:
    stream = client.chat.completions.create(
        model=os.environ.get("MODEL", "gpt-4.1-mini"),
        messages=[{"role": "user", "content": text}],
        stream=True,
    )
    for chunk in stream:
        if chunk.choices and chunk.choices[0].delta.content:
            print(chunk.choices[0].delta.content, end="", flush=True)
    print()
except openai.BadRequestError as refused:
    # A blocked request is an ordinary error of the API: the SDK does not retry it, and the message names the rule.
    sys.exit(f"refused: {refused.message}")
