"""The three APIs through their official packages, each reduced to: say a text, and get what the model says, whole or in pieces."""

import anthropic
import openai

MODEL = "sample"


class Chat:
    """OpenAI's chat completions."""

    package = openai

    @staticmethod
    def client(url, **options):
        return openai.OpenAI(**{"base_url": url + "/v1", "api_key": "none", **options})

    @staticmethod
    def whole(client, text, **options):
        messages = [{"role": "user", "content": text}]
        answer = client.chat.completions.create(**{"model": MODEL, "messages": messages, **options})
        return answer.choices[0].message.content

    @staticmethod
    def pieces(client, text, **options):
        messages = [{"role": "user", "content": text}]
        stream = client.chat.completions.create(**{"model": MODEL, "messages": messages, "stream": True, **options})
        return (choice.delta.content or "" for chunk in stream for choice in chunk.choices)


class Responses:
    """OpenAI's Responses."""

    package = openai
    client = Chat.client

    @staticmethod
    def whole(client, text, **options):
        return client.responses.create(**{"model": MODEL, "input": text, **options}).output_text

    @staticmethod
    def pieces(client, text, **options):
        stream = client.responses.create(**{"model": MODEL, "input": text, "stream": True, **options})
        return (event.delta for event in stream if event.type == "response.output_text.delta")


class Messages:
    """Anthropic's Messages."""

    package = anthropic

    @staticmethod
    def client(url, **options):
        return anthropic.Anthropic(**{"base_url": url, "api_key": "none", **options})

    @staticmethod
    def whole(client, text, **options):
        messages = [{"role": "user", "content": text}]
        answer = client.messages.create(**{"model": MODEL, "max_tokens": 64, "messages": messages, **options})
        return answer.content[0].text

    @staticmethod
    def pieces(client, text, **options):
        messages = [{"role": "user", "content": text}]
        asked = {"model": MODEL, "max_tokens": 64, "messages": messages, "stream": True, **options}
        stream = client.messages.create(**asked)
        return (
            event.delta.text
            for event in stream
            if event.type == "content_block_delta" and event.delta.type == "text_delta"
        )


APIS = (Chat, Responses, Messages)


def streamed(api):
    """An API that says its answer in pieces, called like one that says it whole."""
    return lambda *asked, **options: "".join(api.pieces(*asked, **options))


# Each API twice, with a name for whoever reads of a failure.
WAYS = [
    (api, f"{api.__name__} {way}", say)
    for api in APIS
    for way, say in (("whole", api.whole), ("streamed", streamed(api)))
]
