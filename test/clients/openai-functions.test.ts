import { describe, expect, test } from 'bun:test'
import {
  argumentsOf,
  messages,
  modelOf,
  scenarios,
  textWireFormats,
  useLab,
  weatherIn,
  weatherParameters,
} from './lab.ts'
import { openaiClient } from './sdks.ts'

const lab = useLab()

const client = () => openaiClient(lab())
const functions = [
  { name: 'get_weather', description: 'Weather of a city', parameters: { ...weatherParameters } },
]
const firstCall = scenarios.toolCalls.toolCalls[0]
const firstArguments = () => argumentsOf('toolCalls')[0]

describe.each(textWireFormats)('legacy functions over format %s', (wireFormat) => {
  const model = modelOf(wireFormat)

  test('a whole reply calls the function in `function_call`', async () => {
    lab().reply(wireFormat, 'toolCalls')
    const reply = await client().chat.completions.create({ model, messages, functions })
    const [choice] = reply.choices
    expect(choice?.finish_reason).toBe('function_call')
    expect(choice?.message.tool_calls).toBeUndefined()
    expect(choice?.message.function_call?.name).toBe(firstCall?.name ?? '')
    expect(JSON.parse(choice?.message.function_call?.arguments ?? '')).toEqual(firstArguments())
  })

  test('a stream does so in its deltas', async () => {
    lab().reply(wireFormat, 'toolCalls')
    const stream = client().chat.completions.stream({ model, messages, functions, function_call: 'auto' })
    const message = await stream.finalMessage()
    expect(message.function_call?.name).toBe(firstCall?.name ?? '')
    expect(JSON.parse(message.function_call?.arguments ?? '')).toEqual(firstArguments())
    expect(message.tool_calls).toBeUndefined()
    const [choice] = (await stream.finalChatCompletion()).choices
    expect(choice?.finish_reason).toBe('function_call')
  })

  test('the result goes back as a message of role `function`, and the reply is text', async () => {
    lab().reply(wireFormat, 'text')
    const reply = await client().chat.completions.create({
      model,
      functions,
      function_call: { name: 'get_weather' },
      messages: [
        ...messages,
        {
          role: 'assistant',
          content: null,
          function_call: { name: 'get_weather', arguments: JSON.stringify(firstArguments()) },
        },
        { role: 'function', name: 'get_weather', content: weatherIn('Oslo') },
      ],
    })
    expect(reply.choices[0]?.message.content).toBe(scenarios.text.text)
    expect(reply.choices[0]?.finish_reason).toBe('stop')
    const sent = JSON.stringify(lab().lastRequest().json)
    expect(sent).toContain(weatherIn('Oslo'))
    expect(sent).not.toContain('"function_call":{')
    expect(sent).not.toContain('"functions"')
  })
})
