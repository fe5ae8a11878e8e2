import { describe, expect, test } from 'bun:test'
import { ApiError, type Content, type GenerateContentParameters, type Part } from '@google/genai'
import {
  argumentsOf,
  modelOf,
  prompt,
  rejection,
  scenarios,
  textWireFormats,
  useLab,
  weatherIn,
  weatherParameters,
} from './lab.ts'
import { googleClient } from './sdks.ts'

const lab = useLab()

const models = (key?: string) => googleClient(lab(), {}, key).models

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

async function collectParts(request: GenerateContentParameters): Promise<Part[]> {
  const parts: Part[] = []
  for await (const chunk of await models().generateContentStream(request)) {
    parts.push(...(chunk.candidates?.[0]?.content?.parts ?? []))
  }
  return parts
}

const thoughtsIn = (parts: Part[]) => parts.map((part) => (part.thought ? part.text : '')).join('')
const callsIn = (parts: Part[]) => parts.flatMap((part) => part.functionCall ?? [])

describe.each(textWireFormats)('the Google SDK over an upstream of format %s', (wireFormat) => {
  const params = (more: Partial<GenerateContentParameters> = {}) => ({
    model: modelOf(wireFormat),
    contents: prompt as GenerateContentParameters['contents'],
    ...more,
  })

  test('a whole reply has text and usage', async () => {
    const reply = await models().generateContent(params())
    expect(reply.text).toBe(scenarios.text.text)
    expect(String(reply.candidates?.[0]?.finishReason)).toBe('STOP')
    expect(reply.usageMetadata).toMatchObject({
      promptTokenCount: 87,
      cachedContentTokenCount: 64,
      candidatesTokenCount: 41,
      totalTokenCount: 128,
    })
  })

  test('a stream has the same text and usage', async () => {
    let text = ''
    let total = 0
    for await (const chunk of await models().generateContentStream(params())) {
      text += chunk.text ?? ''
      total = chunk.usageMetadata?.totalTokenCount ?? total
    }
    expect(text).toBe(scenarios.text.text)
    expect(total).toBe(128)
  })

  test.each(['whole', 'streamed'])('parallel tools make the round trip, %s', async (mode) => {
    lab().reply(wireFormat, 'toolCalls', 'text')
    const request = params({ config: { tools } })
    const parts =
      mode === 'streamed'
        ? await collectParts(request)
        : ((await models().generateContent(request)).candidates?.[0]?.content?.parts ?? [])
    const calls = callsIn(parts)
    expect(calls.map((call) => call.args)).toEqual(argumentsOf('toolCalls') as never)
    const contents: Content[] = [
      { role: 'user', parts: [{ text: prompt }] },
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
    const second = await models().generateContent(params({ contents, config: { tools } }))
    expect(second.text).toBe(scenarios.text.text)
    expect(lab().lastRequest().text).toContain(weatherIn('Oslo'))
    expect(lab().lastRequest().text).toContain(weatherIn('京都'))
  })

  test.each(['whole', 'streamed'])(
    'thoughts come out and go back in with their signature, %s',
    async (mode) => {
      lab().reply(wireFormat, 'reasoningToolCall', 'text')
      const config = { tools, thinkingConfig: { includeThoughts: true, thinkingBudget: 1024 } }
      const request = params({ config })
      const parts =
        mode === 'streamed'
          ? await collectParts(request)
          : ((await models().generateContent(request)).candidates?.[0]?.content?.parts ?? [])
      expect(thoughtsIn(parts)).toBe(scenarios.reasoningToolCall.reasoning.text)
      const [call] = callsIn(parts)
      expect(call?.args).toEqual({ city: 'Bergen' })
      const result = {
        ...(call?.id && { id: call.id }),
        name: 'get_weather',
        response: { output: weatherIn('Bergen') },
      }
      const contents: Content[] = [
        { role: 'user', parts: [{ text: prompt }] },
        { role: 'model', parts },
        { role: 'user', parts: [{ functionResponse: result }] },
      ]
      const second = await models().generateContent(params({ contents, config }))
      expect(second.text).toBe(scenarios.text.text)
      // The chat format has no signatures.
      if (wireFormat !== 'chat') {
        expect(lab().lastRequest().text).toContain(scenarios.reasoningToolCall.reasoning.signature)
      }
    },
  )

  test('structured output', async () => {
    lab().reply(wireFormat, 'structured')
    const config = { responseMimeType: 'application/json', responseJsonSchema: schema }
    const reply = await models().generateContent(params({ config }))
    expect(JSON.parse(reply.text ?? '')).toEqual(JSON.parse(scenarios.structured.text))
    expect(lab().lastRequest().text).toContain('"warnings"')
  })

  test('tokens are counted', async () => {
    const { totalTokens } = await models().countTokens({ model: modelOf(wireFormat), contents: prompt })
    expect(totalTokens).toBeGreaterThan(0)
  })

  test('a rate limit of the upstream is an ApiError of status 429', async () => {
    lab().rateLimit(wireFormat, '7')
    const error = await rejection(models().generateContent(params()))
    expect(error).toBeInstanceOf(ApiError)
    expect(error).toMatchObject({ status: 429 })
    expect((error as ApiError).message).toContain('RESOURCE_EXHAUSTED')
  })

  test('abort of a stream closes the connection to the upstream', async () => {
    lab().stall(wireFormat)
    const controller = new AbortController()
    let leftAt = 0
    const reading = async () => {
      const request = params({ config: { abortSignal: controller.signal } })
      for await (const chunk of await models().generateContentStream(request)) {
        if (!chunk.text || leftAt > 0) continue
        leftAt = Date.now()
        controller.abort()
      }
    }
    await reading().catch(() => undefined)
    await lab().expectClosedSoon(leftAt)
  })
})

test('heartbeats in a slow stream do no harm', async () => {
  lab().replySlowly('messages')
  const parts = await collectParts({ model: modelOf('messages'), contents: prompt })
  expect(parts.map((part) => part.text).join('')).toBe(scenarios.text.text)
})

describe('errors with the Google SDK', () => {
  test.each([
    ['a wrong key', 401, 'UNAUTHENTICATED', () => models('wrong'), modelOf('gemini')],
    ['an unknown model', 400, 'INVALID_ARGUMENT', () => models(), 'lab/none'],
    ['no credits', 402, 'FAILED_PRECONDITION', () => models(lab().poorKey), modelOf('gemini')],
  ])('%s has status %i', async (_, status, word, createModels, model) => {
    const error = await rejection(createModels().generateContent({ model, contents: prompt }))
    expect(error).toBeInstanceOf(ApiError)
    expect(error).toMatchObject({ status })
    expect((error as ApiError).message).toContain(word)
  })

  test('the client retries a rate limit when it is configured to', async () => {
    lab().rateLimit('gemini', '1')
    const patient = googleClient(lab(), { retryOptions: { attempts: 2 } })
    expect(
      await lab().requestsDuring(() =>
        patient.models.generateContent({ model: modelOf('gemini'), contents: prompt }),
      ),
    ).toHaveLength(2)
  })
})
