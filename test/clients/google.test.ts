import { describe, expect, test } from 'bun:test'
import { ApiError, type Content, type GenerateContentParameters, GoogleGenAI, type Part } from '@google/genai'
import {
  argumentsOf,
  askedDuring,
  dawdles,
  expectClosedSoon,
  incoming,
  lastAsked,
  limitsRate,
  modelOf,
  rejection,
  replies,
  scenarios,
  stalls,
  textDialects,
  useLab,
  weatherIn,
  weatherParameters,
} from './lab.ts'

const lab = useLab()

function models(apiKey = lab().key) {
  return new GoogleGenAI({ apiKey, httpOptions: { baseUrl: lab().url } }).models
}

const tools = [
  {
    functionDeclarations: [
      { name: 'get_weather', description: 'Weather of a city', parametersJsonSchema: weatherParameters },
    ],
  },
]
const schema = {
  type: 'object',
  properties: {
    city: { type: 'string' },
    degrees: { type: 'number' },
    warnings: { type: 'array', items: { type: 'string' } },
  },
  required: ['city', 'degrees'],
}

async function gathered(wish: GenerateContentParameters): Promise<Part[]> {
  const parts: Part[] = []
  for await (const chunk of await models().generateContentStream(wish)) {
    parts.push(...(chunk.candidates?.[0]?.content?.parts ?? []))
  }
  return parts
}

const thoughtsIn = (parts: Part[]) => parts.map((part) => (part.thought ? part.text : '')).join('')
const callsIn = (parts: Part[]) => parts.flatMap((part) => part.functionCall ?? [])

describe.each(textDialects)('the Google SDK over an upstream of format %s', (dialect) => {
  const ask = (more: Partial<GenerateContentParameters> = {}) => ({
    model: modelOf(dialect),
    contents: incoming as GenerateContentParameters['contents'],
    ...more,
  })

  test('a whole answer has text and usage', async () => {
    const answer = await models().generateContent(ask())
    expect(answer.text).toBe(scenarios.text.text)
    expect(String(answer.candidates?.[0]?.finishReason)).toBe('STOP')
    expect(answer.usageMetadata).toMatchObject({
      promptTokenCount: 87,
      cachedContentTokenCount: 64,
      candidatesTokenCount: 41,
      totalTokenCount: 128,
    })
  })

  test('a stream has the same text and usage', async () => {
    let text = ''
    let total = 0
    for await (const chunk of await models().generateContentStream(ask())) {
      text += chunk.text ?? ''
      total = chunk.usageMetadata?.totalTokenCount ?? total
    }
    expect(text).toBe(scenarios.text.text)
    expect(total).toBe(128)
  })

  test.each(['whole', 'streamed'])('parallel tools make the round trip, %s', async (manner) => {
    replies(lab(), dialect, 'toolCalls', 'text')
    const wish = ask({ config: { tools } })
    const parts =
      manner === 'streamed'
        ? await gathered(wish)
        : ((await models().generateContent(wish)).candidates?.[0]?.content?.parts ?? [])
    const calls = callsIn(parts)
    expect(calls.map((call) => call.args)).toEqual(argumentsOf('toolCalls') as never)
    const contents: Content[] = [
      { role: 'user', parts: [{ text: incoming }] },
      { role: 'model', parts },
      {
        role: 'user',
        parts: calls.map(({ id, name, args }) => ({
          functionResponse: {
            ...(id && { id }),
            name: name ?? '',
            response: { output: weatherIn(String(args?.city)) },
          },
        })),
      },
    ]
    const second = await models().generateContent(ask({ contents, config: { tools } }))
    expect(second.text).toBe(scenarios.text.text)
    expect(lastAsked(lab()).text).toContain(weatherIn('Oslo'))
    expect(lastAsked(lab()).text).toContain(weatherIn('京都'))
  })

  test.each(['whole', 'streamed'])(
    'thoughts come out and go back in with their signature, %s',
    async (manner) => {
      replies(lab(), dialect, 'reasoningToolCall', 'text')
      const config = { tools, thinkingConfig: { includeThoughts: true, thinkingBudget: 1024 } }
      const wish = ask({ config })
      const parts =
        manner === 'streamed'
          ? await gathered(wish)
          : ((await models().generateContent(wish)).candidates?.[0]?.content?.parts ?? [])
      expect(thoughtsIn(parts)).toBe(scenarios.reasoningToolCall.reasoning.text)
      const [call] = callsIn(parts)
      expect(call?.args).toEqual({ city: 'Bergen' })
      const answered = {
        ...(call?.id && { id: call.id }),
        name: 'get_weather',
        response: { output: weatherIn('Bergen') },
      }
      const contents: Content[] = [
        { role: 'user', parts: [{ text: incoming }] },
        { role: 'model', parts },
        { role: 'user', parts: [{ functionResponse: answered }] },
      ]
      const second = await models().generateContent(ask({ contents, config }))
      expect(second.text).toBe(scenarios.text.text)
      // The chat format has no signatures.
      if (dialect !== 'chat') {
        expect(lastAsked(lab()).text).toContain(scenarios.reasoningToolCall.reasoning.signature)
      }
    },
  )

  test('structured output', async () => {
    replies(lab(), dialect, 'structured')
    const config = { responseMimeType: 'application/json', responseJsonSchema: schema }
    const answer = await models().generateContent(ask({ config }))
    expect(JSON.parse(answer.text ?? '')).toEqual(JSON.parse(scenarios.structured.text))
    expect(lastAsked(lab()).text).toContain('"warnings"')
  })

  test('tokens are counted', async () => {
    const { totalTokens } = await models().countTokens({ model: modelOf(dialect), contents: incoming })
    expect(totalTokens).toBeGreaterThan(0)
  })

  test('a rate limit of the upstream is an ApiError of status 429', async () => {
    limitsRate(lab(), dialect, '7')
    const error = await rejection(models().generateContent(ask()))
    expect(error).toBeInstanceOf(ApiError)
    expect(error).toMatchObject({ status: 429 })
    expect((error as ApiError).message).toContain('RESOURCE_EXHAUSTED')
  })

  test('abort of a stream closes the connection to the upstream', async () => {
    stalls(lab(), dialect)
    const controller = new AbortController()
    let leftAt = 0
    const reading = async () => {
      const wish = ask({ config: { abortSignal: controller.signal } })
      for await (const chunk of await models().generateContentStream(wish)) {
        if (!chunk.text || leftAt > 0) continue
        leftAt = Date.now()
        controller.abort()
      }
    }
    await reading().catch(() => undefined)
    await expectClosedSoon(lab(), leftAt)
  })
})

test('signs of life in a slow stream do no harm', async () => {
  dawdles(lab(), 'messages')
  const parts = await gathered({ model: modelOf('messages'), contents: incoming })
  expect(parts.map((part) => part.text).join('')).toBe(scenarios.text.text)
})

describe('errors with the Google SDK', () => {
  test.each([
    ['a wrong key', 401, 'UNAUTHENTICATED', () => models('wrong'), modelOf('gemini')],
    ['an unknown model', 400, 'INVALID_ARGUMENT', () => models(), 'lab/none'],
    ['no credits', 402, 'FAILED_PRECONDITION', () => models(lab().poorKey), modelOf('gemini')],
  ])('%s has status %i', async (_, status, word, given, model) => {
    const error = await rejection(given().generateContent({ model, contents: incoming }))
    expect(error).toBeInstanceOf(ApiError)
    expect(error).toMatchObject({ status })
    expect((error as ApiError).message).toContain(word)
  })

  test('the client retries a rate limit when it is told to', async () => {
    limitsRate(lab(), 'gemini', '1')
    const patient = new GoogleGenAI({
      apiKey: lab().key,
      httpOptions: { baseUrl: lab().url, retryOptions: { attempts: 2 } },
    })
    expect(
      await askedDuring(lab(), () =>
        patient.models.generateContent({ model: modelOf('gemini'), contents: incoming }),
      ),
    ).toHaveLength(2)
  })
})
