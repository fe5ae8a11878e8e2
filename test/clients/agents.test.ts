import { describe, expect, test } from 'bun:test'
import {
  Agent,
  OpenAIChatCompletionsModel,
  OpenAIResponsesModel,
  Runner,
  setTracingDisabled,
  tool,
} from '@openai/agents'
import { AuthenticationError, BadRequestError, RateLimitError } from 'openai'
import { z } from 'zod'
import {
  modelOf,
  prompt,
  rejection,
  reportSchema,
  scenarios,
  type TextWireFormat,
  textWireFormats,
  useLab,
  weatherIn,
} from './lab.ts'
import { type ClientOptions, openaiClient } from './sdks.ts'

setTracingDisabled(true)

const lab = useLab()

type Api = 'responses' | 'chat'

function model(api: Api, name: string, options?: ClientOptions) {
  const client = openaiClient(lab(), options)
  // The agents package has its own copy of the OpenAI package, of the same version.
  return api === 'responses'
    ? new OpenAIResponsesModel(client as never, name)
    : new OpenAIChatCompletionsModel(client as never, name)
}

const runner = new Runner({ tracingDisabled: true })

function agent(api: Api, wireFormat: TextWireFormat, cities: string[] = []) {
  return new Agent({
    name: 'Forecaster',
    instructions: 'Use the tool.',
    model: model(api, modelOf(wireFormat)),
    tools: [
      tool({
        name: 'get_weather',
        description: 'Weather of a city',
        parameters: z.object({ city: z.string() }),
        execute: ({ city }) => {
          cities.push(city)
          return weatherIn(city)
        },
      }),
    ],
  })
}

const cases = (['responses', 'chat'] as const).flatMap((api) =>
  textWireFormats.map((wireFormat): [Api, TextWireFormat] => [api, wireFormat]),
)

describe.each(cases)('agents with %s over an upstream of format %s', (api, wireFormat) => {
  test('a run has a reply', async () => {
    const { finalOutput, state } = await runner.run(agent(api, wireFormat), prompt)
    expect(finalOutput).toBe(scenarios.text.text)
    expect(state.usage).toMatchObject({ inputTokens: 87, outputTokens: 41 })
  })

  test.each(['whole', 'streamed'])('a run uses its tools in parallel, %s', async (mode) => {
    lab().reply(wireFormat, 'toolCalls', 'text')
    const cities: string[] = []
    const agentWithTool = agent(api, wireFormat, cities)
    if (mode === 'streamed') {
      const result = await runner.run(agentWithTool, prompt, { stream: true })
      for await (const _event of result);
      await result.completed
      expect(result.finalOutput).toBe(scenarios.text.text)
    } else {
      expect((await runner.run(agentWithTool, prompt)).finalOutput).toBe(scenarios.text.text)
    }
    expect(cities.toSorted()).toEqual(['Oslo', '京都'])
    expect(lab().lastRequest().text).toContain(weatherIn('Oslo'))
    expect(lab().lastRequest().text).toContain(weatherIn('京都'))
  })

  test('reasoning goes back in with the tool call it belongs to', async () => {
    lab().reply(wireFormat, 'reasoningToolCall', 'text')
    const { finalOutput } = await runner.run(agent(api, wireFormat), prompt)
    expect(finalOutput).toBe(scenarios.text.text)
    // Chat formats carry no signatures, neither here nor upstream.
    if (api === 'chat' || wireFormat === 'chat') return
    expect(lab().lastRequest().text).toContain(scenarios.reasoningToolCall.reasoning.signature)
  })

  test('structured output', async () => {
    lab().reply(wireFormat, 'structured')
    const typed = new Agent({
      name: 'Reporter',
      model: model(api, modelOf(wireFormat)),
      outputType: reportSchema,
    })
    const { finalOutput } = await runner.run(typed, prompt)
    expect(finalOutput).toEqual(JSON.parse(scenarios.structured.text))
  })

  test('a rate limit of the upstream is a RateLimitError', async () => {
    lab().rateLimit(wireFormat, '1')
    const error = await rejection(runner.run(agent(api, wireFormat), prompt))
    expect(error).toBeInstanceOf(RateLimitError)
  })

  test('abort of a run closes the connection to the upstream', async () => {
    lab().stall(wireFormat)
    const controller = new AbortController()
    const result = await runner.run(agent(api, wireFormat), prompt, {
      stream: true,
      signal: controller.signal,
    })
    let leftAt = 0
    const reading = async () => {
      for await (const delta of result.toTextStream()) {
        if (!delta || leftAt > 0) continue
        leftAt = Date.now()
        controller.abort()
      }
      await result.completed
    }
    await reading().catch(() => undefined)
    await lab().expectClosedSoon(leftAt)
  })
})

describe.each(['responses', 'chat'] as const)('errors of agents with %s', (api) => {
  const run = (name: string, key = lab().key) =>
    runner.run(new Agent({ name: 'Unnamed', model: model(api, name, { key }) }), prompt)

  test('a wrong key, an unknown model, no credits', async () => {
    expect(await rejection(run(modelOf('chat'), 'sk-hg-v1-wrong'))).toBeInstanceOf(AuthenticationError)
    expect(await rejection(run('lab/none'))).toBeInstanceOf(BadRequestError)
    expect(await rejection(run(modelOf('chat'), lab().poorKey))).toMatchObject({ status: 402 })
  })

  test('a rate limit is retried', async () => {
    lab().rateLimit('messages', '1')
    const patient = new Agent({ name: 'Patient', model: model(api, modelOf('messages'), { maxRetries: 1 }) })
    expect(await lab().requestsDuring(() => runner.run(patient, prompt))).toHaveLength(2)
  })
})
