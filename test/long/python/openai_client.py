"""The openai package, used as its documentation does."""

import io
import json

import openai
from openai import OpenAI

from lab import cities, expect, get_weather, key, model, poor_key, question, reply, url, weather_schema, wrong_key

client = OpenAI(api_key=key, base_url=f"{url}/v1", max_retries=0)
messages = [{"role": "user", "content": question}]


def chat():
    completion = client.chat.completions.create(model=model, messages=messages)
    expect(completion.choices[0].message.content, reply)
    expect(completion.usage.total_tokens, 128)


def chat_streamed():
    shown = io.StringIO()
    stream = client.chat.completions.create(model=model, messages=messages, stream=True)
    for chunk in stream:
        print(chunk.choices[0].delta.content or "", end="", file=shown)
    expect(shown.getvalue(), reply)


def chat_streamed_with_usage():
    usage = None
    stream = client.chat.completions.create(
        model=model, messages=messages, stream=True, stream_options={"include_usage": True}
    )
    for chunk in stream:
        usage = chunk.usage or usage
    expect(usage.total_tokens, 128)


def chat_tools():
    tools = [{"type": "function", "function": {"name": "get_weather", "parameters": weather_schema}}]
    asked = client.chat.completions.create(model=model, messages=messages, tools=tools)
    message = asked.choices[0].message
    expect(asked.choices[0].finish_reason, "tool_calls")
    history = [*messages, message]
    for call in message.tool_calls:
        city = json.loads(call.function.arguments)["city"]
        history.append({"role": "tool", "tool_call_id": call.id, "content": get_weather(city)})
    expect([json.loads(call.function.arguments)["city"] for call in message.tool_calls], cities)
    told = client.chat.completions.create(model=model, messages=history, tools=tools)
    expect(told.choices[0].message.content, reply)


def chat_tools_streamed():
    tools = [{"type": "function", "function": {"name": "get_weather", "parameters": weather_schema}}]
    final_tool_calls = {}
    for chunk in client.chat.completions.create(model=model, messages=messages, tools=tools, stream=True):
        for tool_call in chunk.choices[0].delta.tool_calls or []:
            index = tool_call.index
            if index not in final_tool_calls:
                final_tool_calls[index] = tool_call
                continue
            final_tool_calls[index].function.arguments += tool_call.function.arguments
    found = [json.loads(call.function.arguments)["city"] for call in final_tool_calls.values()]
    expect(found, cities)


def responses():
    response = client.responses.create(model=model, input=question)
    expect(response.output_text, reply)
    expect(response.status, "completed")


def responses_streamed():
    text = ""
    kinds = []
    for event in client.responses.create(model=model, input=question, stream=True):
        kinds.append(event.type)
        if event.type == "response.output_text.delta":
            text += event.delta
    expect(text, reply)
    expect([kinds[0], kinds[-1]], ["response.created", "response.completed"])
    with client.responses.stream(model=model, input=question) as stream:
        for _ in stream:
            pass
        expect(stream.get_final_response().output_text, reply)


def responses_tools():
    tools = [{"type": "function", "name": "get_weather", "parameters": weather_schema, "strict": False}]
    history = [{"role": "user", "content": question}]
    asked = client.responses.create(model=model, input=history, tools=tools)
    history += asked.output
    found = []
    for item in asked.output:
        if item.type == "function_call":
            city = json.loads(item.arguments)["city"]
            found.append(city)
            history.append({"type": "function_call_output", "call_id": item.call_id, "output": get_weather(city)})
    expect(found, cities)
    expect(client.responses.create(model=model, input=history, tools=tools).output_text, reply)


def models():
    names = [listed.id for listed in client.models.list()]
    assert model in names, names
    expect(client.models.retrieve(model).id, model)


def files():
    made = client.files.create(file=("notes.txt", b"The secret word is heron."), purpose="user_data")
    expect((made.filename, made.bytes, made.purpose), ("notes.txt", 25, "user_data"))
    assert made.id in [listed.id for listed in client.files.list()]
    expect(client.files.retrieve(made.id).id, made.id)
    assert client.files.delete(made.id).deleted
    assert made.id not in [listed.id for listed in client.files.list()]
    try:
        client.files.retrieve(made.id)
    except openai.NotFoundError as error:
        expect(error.status_code, 404)
    else:
        raise AssertionError("a deleted file was found")


def errors():
    for ask in (
        lambda given: given.chat.completions.create(model=model, messages=messages),
        lambda given: given.chat.completions.create(model=model, messages=messages, stream=True),
        lambda given: given.responses.create(model=model, input=question),
    ):
        try:
            ask(client.with_options(api_key=wrong_key))
        except openai.AuthenticationError as error:
            expect(error.status_code, 401)
            assert error.request_id
        else:
            raise AssertionError("a wrong key was taken")
        try:
            ask(client.with_options(api_key=poor_key))
        except openai.APIStatusError as error:
            expect(error.status_code, 402)
            assert "credits" in error.message.lower(), error.message
        else:
            raise AssertionError("an account without credits was served")
    try:
        client.chat.completions.create(model="nobody/none", messages=messages)
    except (openai.BadRequestError, openai.NotFoundError) as error:
        assert "nobody/none" in error.message, error.message
    else:
        raise AssertionError("an unknown model replied")


if __name__ == "__main__":
    chat()
    chat_streamed()
    chat_streamed_with_usage()
    chat_tools()
    chat_tools_streamed()
    responses()
    responses_streamed()
    responses_tools()
    models()
    files()
    errors()
