import { describe, expect, test } from 'bun:test'
import {
  Agent,
  OpenAIChatCompletionsModel,
  OpenAIResponsesModel,
  Runner,
  setTracingDisabled,
  tool,
} from '@openai/agents'
import OpenAI, { AuthenticationError, BadRequestError, RateLimitError } from 'openai'
import { z } from 'zod'
import {
  askedDuring,
  expectClosedSoon,
  incoming,
  lastAsked,
  limitsRate,
  modelOf,
  rejection,
  replies,
  scenarios,
  stalls,
  type TextDialect,
  textDialects,
  useLab,
  weatherIn,
} from './lab.ts'

setTracingDisabled(true)

const lab = useLab()

type Api = 'responses' | 'chat'

function model(api: Api, name: string, options: { key?: string; maxRetries?: number } = {}) {
  const client = new OpenAI({
    baseURL: `${lab().url}/v1`,
    apiKey: options.key ?? lab().key,
    maxRetries: options.maxRetries ?? 0,
  })
  // The two packages bring a client of their own each; they are the same version.
  return api === 'responses'
    ? new OpenAIResponsesModel(client as never, name)
    : new OpenAIChatCompletionsModel(client as never, name)
}

const runner = new Runner({ tracingDisabled: true })

const report = z.object({
  city: z.string(),
  degrees: z.number(),
  warnings: z.array(z.string()),
  sky: z.object({ cover: z.number(), snow: z.boolean() }),
})

function agent(api: Api, dialect: TextDialect, cities: string[] = []) {
  return new Agent({
    name: 'Forecaster',
    instructions: 'Use the tool.',
    model: model(api, modelOf(dialect)),
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
  textDialects.map((dialect): [Api, TextDialect] => [api, dialect]),
)

describe.each(cases)('agents with %s over an upstream of format %s', (api, dialect) => {
  test('a run answers', async () => {
    const { finalOutput, state } = await runner.run(agent(api, dialect), incoming)
    expect(finalOutput).toBe(scenarios.text.text)
    expect(state.usage).toMatchObject({ inputTokens: 87, outputTokens: 41 })
  })

  test.each(['whole', 'streamed'])('a run uses its tools in parallel, %s', async (manner) => {
    replies(lab(), dialect, 'toolCalls', 'text')
    const cities: string[] = []
    const agentWithTool = agent(api, dialect, cities)
    if (manner === 'streamed') {
      const result = await runner.run(agentWithTool, incoming, { stream: true })
      for await (const _event of result);
      await result.completed
      expect(result.finalOutput).toBe(scenarios.text.text)
    } else {
      expect((await runner.run(agentWithTool, incoming)).finalOutput).toBe(scenarios.text.text)
    }
    expect(cities.toSorted()).toEqual(['Oslo', '京都'])
    expect(lastAsked(lab()).text).toContain(weatherIn('Oslo'))
    expect(lastAsked(lab()).text).toContain(weatherIn('京都'))
  })

  test('reasoning goes back in with the tool call it belongs to', async () => {
    replies(lab(), dialect, 'reasoningToolCall', 'text')
    const { finalOutput } = await runner.run(agent(api, dialect), incoming)
    expect(finalOutput).toBe(scenarios.text.text)
    // Signatures have no place in the chat format of this client, nor in that of the upstream.
    if (api === 'chat' || dialect === 'chat') return
    expect(lastAsked(lab()).text).toContain(scenarios.reasoningToolCall.reasoning.signature)
  })

  test('structured output', async () => {
    replies(lab(), dialect, 'structured')
    const typed = new Agent({
      name: 'Reporter',
      model: model(api, modelOf(dialect)),
      outputType: report,
    })
    const { finalOutput } = await runner.run(typed, incoming)
    expect(finalOutput).toEqual(JSON.parse(scenarios.structured.text))
  })

  test('a rate limit of the upstream is a RateLimitError', async () => {
    limitsRate(lab(), dialect, '1')
    const error = await rejection(runner.run(agent(api, dialect), incoming))
    expect(error).toBeInstanceOf(RateLimitError)
  })

  test('abort of a run closes the connection to the upstream', async () => {
    stalls(lab(), dialect)
    const controller = new AbortController()
    const result = await runner.run(agent(api, dialect), incoming, {
      stream: true,
      signal: controller.signal,
    })
    let leftAt = 0
    const reading = async () => {
      for await (const piece of result.toTextStream()) {
        if (!piece || leftAt > 0) continue
        leftAt = Date.now()
        controller.abort()
      }
      await result.completed
    }
    await reading().catch(() => undefined)
    await expectClosedSoon(lab(), leftAt)
  })
})

describe.each(['responses', 'chat'] as const)('errors of agents with %s', (api) => {
  const run = (name: string, key = lab().key) =>
    runner.run(new Agent({ name: 'Nobody', model: model(api, name, { key }) }), incoming)

  test('a wrong key, an unknown model, no credits', async () => {
    expect(await rejection(run(modelOf('chat'), 'sk-hg-v1-wrong'))).toBeInstanceOf(AuthenticationError)
    expect(await rejection(run('lab/none'))).toBeInstanceOf(BadRequestError)
    expect(await rejection(run(modelOf('chat'), lab().poorKey))).toMatchObject({ status: 402 })
  })

  test('a rate limit is retried', async () => {
    limitsRate(lab(), 'messages', '1')
    const patient = new Agent({ name: 'Patient', model: model(api, modelOf('messages'), { maxRetries: 1 }) })
    expect(await askedDuring(lab(), () => runner.run(patient, incoming))).toHaveLength(2)
  })
})
