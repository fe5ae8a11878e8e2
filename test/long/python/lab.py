"""What the test that runs these programs tells them: see test/long/clients.test.ts."""

import os

url = os.environ["HEADGATE_URL"]
key = os.environ["HEADGATE_KEY"]
# Of an account without credits.
poor_key = os.environ["HEADGATE_POOR_KEY"]
wrong_key = "sk-hg-v1-wrong"
model = os.environ["HEADGATE_MODEL"]
# The reply of the model without a tool call.
reply = os.environ["HEADGATE_REPLY"]

question = "What is the weather in Oslo and in Kyoto?"
cities = ["Oslo", "京都"]
weather_schema = {
    "type": "object",
    "properties": {"city": {"type": "string"}},
    "required": ["city"],
}


def get_weather(city: str) -> str:
    return f"It is snowing in {city}."


def expect(actual, expected):
    assert actual == expected, f"{actual!r} is not {expected!r}"
