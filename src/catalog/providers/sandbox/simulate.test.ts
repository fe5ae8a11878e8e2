import { describe, expect, test } from 'bun:test'
import { crc32 } from 'node:zlib'
import type { FunctionTool, Message, ModelCall } from '../../../formats/call/call.ts'
import { collectReply, type Reply, type ReplyEvent } from '../../../formats/call/event.ts'
import type {
  AudioPart,
  ImagePart,
  InputPart,
  OutputPart,
  ReasoningPart,
  ToolCallPart,
} from '../../../formats/call/part.ts'
import { countCompletionTokens, countPromptTokens, zeroUsage } from '../../../formats/call/usage.ts'
import { simulators } from '../simulators.ts'
import { directiveNames } from './directives.ts'
import { simulate } from './simulate.ts'

const userMessage = (text: string): Message => ({ role: 'user', parts: [{ kind: 'text', text }] })

function callWith(text: string, rest: Partial<ModelCall> = {}): ModelCall {
  return { messages: [userMessage(text)], stream: true, unknown: [], ...rest }
}

async function run(call: ModelCall, model = 'echo') {
  const waits: number[] = []
  const options = {
    signal: new AbortController().signal,
    sleep: async (ms: number) => void waits.push(ms),
    maxBytes: 128 * 1024 * 1024,
  }
  const events: ReplyEvent[] = []
  for await (const event of simulate(call, model, options)) events.push(event)
  return { events, waits, reply: collectReply(events) }
}

const deltasOf = (events: ReplyEvent[]) =>
  events.flatMap((event) => (event.type === 'part-delta' ? [event] : []))

function textOf(reply: Reply, choice = 0): string {
  return (reply.choices[choice]?.parts ?? [])
    .map((part) => (part.kind === 'text' || part.kind === 'refusal' ? part.text : ''))
    .join('')
}

function callsOf(reply: Reply): ToolCallPart[] {
  return (reply.choices[0]?.parts ?? []).filter((part) => part.kind === 'tool-call')
}

const weather: FunctionTool = {
  kind: 'function',
  name: 'get_weather',
  schema: {
    type: 'object',
    properties: {
      city: { type: 'string' },
      unit: { type: 'string', enum: ['celsius', 'fahrenheit'] },
      days: { type: 'integer', minimum: 1 },
      hourly: { type: 'boolean' },
    },
    required: ['city', 'unit', 'days', 'hourly'],
  },
}
const clock: FunctionTool = { kind: 'function', name: 'get_time', schema: { type: 'object', properties: {} } }

describe('echo', () => {
  test('repeats the last user message word by word, then finish, usage and end', async () => {
    const { events, reply } = await run(callWith('one two  three'))
    expect(deltasOf(events).map((event) => event.delta.text)).toEqual(['one', ' two', '  three'])
    expect(events.map((event) => event.type)).toEqual([
      'reply-start',
      'part-start',
      'part-delta',
      'part-delta',
      'part-delta',
      'part-end',
      'choice-end',
      'usage',
      'reply-end',
    ])
    expect(textOf(reply)).toBe('one two  three')
    expect(reply.choices[0]?.end).toMatchObject({ reason: 'stop', native: 'stop' })
    expect(reply.isComplete).toBe(true)
  })

  test('gives the same events for the same call', async () => {
    const call = callWith('call get_weather', { tools: [weather], n: 2 })
    expect((await run(call)).events).toEqual((await run(call)).events)
  })

  test('only the last user message counts', async () => {
    const messages: Message[] = [
      { role: 'system', parts: [{ kind: 'text', text: 'Be brief. sandbox:error=500' }] },
      userMessage('sandbox:refuse first'),
      { role: 'assistant', parts: [{ kind: 'refusal', text: 'no' }] },
      userMessage('second'),
    ]
    expect(textOf((await run({ ...callWith(''), messages })).reply)).toBe('second')
  })

  test('describes the images, files, audio and video it received', async () => {
    const data = Buffer.alloc(1234).toString('base64')
    const parts: InputPart[] = [
      { kind: 'text', text: 'Look:' },
      { kind: 'image', source: { kind: 'data', mediaType: 'image/png', data } },
      { kind: 'file', filename: 'a.pdf', source: { kind: 'data', mediaType: 'application/pdf', data } },
      { kind: 'audio', format: 'wav', data },
      { kind: 'image', source: { kind: 'url', url: 'https://example.com/a.png' } },
      { kind: 'video', source: { kind: 'url', url: 'https://example.com/a.mp4' } },
    ]
    const { reply } = await run({ ...callWith(''), messages: [{ role: 'user', parts }] })
    expect(textOf(reply)).toBe(
      'Look: [image image/png 1234 bytes] [file a.pdf application/pdf 1234 bytes] [audio wav 1234 bytes] ' +
        '[image https://example.com/a.png] [video https://example.com/a.mp4]',
    )
    expect(reply.usage).toMatchObject({ input: 2 + 20, inputAudio: 4, inputImage: 512, inputVideo: 1024 })
  })

  test('several choices interleave and differ', async () => {
    const { events, reply } = await run(callWith('a b', { n: 3 }))
    expect([0, 1, 2].map((choice) => textOf(reply, choice))).toEqual([
      'a b',
      'a b (answer 2)',
      'a b (answer 3)',
    ])
    expect(
      deltasOf(events)
        .slice(0, 3)
        .map((event) => event.choice),
    ).toEqual([0, 1, 2])
    expect(reply.usage?.output).toBe(1 + 4 + 4)
  })

  test('a stop sequence ends the text before it', async () => {
    const { reply } = await run(callWith('one two three', { stop: ['three', 'two'] }))
    expect(textOf(reply)).toBe('one ')
    expect(reply.choices[0]?.end).toMatchObject({
      reason: 'stop',
      native: 'stop_sequence',
      stopSequence: 'two',
    })
  })

  test('max_tokens cuts the text at four characters per token, and the usage is that of the cut text', async () => {
    const { reply } = await run(callWith('abcdefghij klm', { maxTokens: 2 }))
    expect(textOf(reply)).toBe('abcdefgh')
    expect(reply.choices[0]?.end?.reason).toBe('length')
    expect(reply.usage?.output).toBe(2)
    expect((await run(callWith('abcdefgh', { maxTokens: 2 }))).reply.choices[0]?.end?.reason).toBe('stop')
    expect(textOf((await run(callWith('🙂🙂🙂🙂🙂🙂', { maxTokens: 1 }))).reply)).toBe('🙂🙂🙂🙂')
  })

  test('logprobs come with each word when requested', async () => {
    const { reply } = await run(callWith('a b', { logprobs: true, topLogprobs: 2 }))
    const [part] = reply.choices[0]!.parts
    const logprobs = part?.kind === 'text' ? part.logprobs! : []
    expect(logprobs.map(({ token }) => token)).toEqual(['a', ' b'])
    expect(logprobs[0]).toMatchObject({ bytes: [97], top: [{ token: 'a' }, { token: 'a~1' }] })
  })
})

describe('tools', () => {
  test('a tool named in the message is called with arguments that its schema accepts', async () => {
    const { reply } = await run(callWith('please get_weather for Oslo', { tools: [weather, clock] }))
    const [call, ...more] = callsOf(reply)
    expect(more).toEqual([])
    expect(call).toMatchObject({ id: 'call_sandbox_1', name: 'get_weather' })
    expect(JSON.parse(call!.arguments)).toEqual({
      city: 'please get_weather for Oslo',
      unit: 'celsius',
      days: 1,
      hourly: true,
    })
    expect(reply.choices[0]?.end?.reason).toBe('tool_calls')
  })

  test('several names are parallel calls whose arguments interleave', async () => {
    const tools = [weather, { ...weather, name: 'get_forecast' }]
    const { events, reply } = await run(callWith('get_forecast then get_weather', { tools }))
    expect(callsOf(reply).map(({ name }) => name)).toEqual(['get_forecast', 'get_weather'])
    expect(
      deltasOf(events)
        .slice(0, 4)
        .map((event) => event.part),
    ).toEqual([0, 1, 0, 1])
    const single = await run(callWith('get_forecast then get_weather', { tools, parallelToolCalls: false }))
    expect(callsOf(single.reply)).toHaveLength(1)
  })

  test('a name within another word does not match', async () => {
    const { reply } = await run(callWith('my address', { tools: [{ kind: 'function', name: 'add' }] }))
    expect(textOf(reply)).toBe('my address')
  })

  test('tool_choice forces, forbids and restricts', async () => {
    const tools = [weather, clock]
    const named = async (toolChoice: ModelCall['toolChoice'], text = 'hi') =>
      callsOf((await run(callWith(text, { tools, ...(toolChoice ? { toolChoice } : {}) }))).reply).map(
        ({ name }) => name,
      )
    expect(await named({ kind: 'tool', name: 'get_time' })).toEqual(['get_time'])
    expect(await named({ kind: 'required' })).toEqual(['get_weather'])
    expect(await named({ kind: 'required' }, 'get_time')).toEqual(['get_time'])
    expect(await named({ kind: 'none' }, 'get_time')).toEqual([])
    expect(await named({ kind: 'allowed', required: true, names: ['get_time'] })).toEqual(['get_time'])
    expect(await named({ kind: 'allowed', required: false, names: ['get_time'] }, 'get_weather')).toEqual([])
    const missing = await run(callWith('hi', { tools, toolChoice: { kind: 'tool', name: 'nothing' } }))
    expect(missing.reply.failure).toMatchObject({ kind: 'invalid_request', status: 400 })
  })

  test('after the tool result it replies with a text that quotes it; ids continue', async () => {
    const tools = [weather]
    const first = await run(callWith('get_weather', { tools }))
    const messages: Message[] = [
      userMessage('get_weather'),
      { role: 'assistant', parts: callsOf(first.reply) },
      {
        role: 'user',
        parts: [
          { kind: 'tool-result', id: 'call_sandbox_1', content: [{ kind: 'text', text: '{"celsius":21}' }] },
        ],
      },
    ]
    const second = await run({ ...callWith(''), tools, messages })
    expect(textOf(second.reply)).toBe('get_weather returned: {"celsius":21}')
    const third = await run({
      ...callWith(''),
      tools,
      messages: [...messages, userMessage('get_weather again')],
    })
    expect(callsOf(third.reply)[0]?.id).toBe('call_sandbox_2')
    const rounds = messages.with(0, userMessage('sandbox:rounds=2 get_weather'))
    expect(callsOf((await run({ ...callWith(''), tools, messages: rounds })).reply)).toHaveLength(1)
  })

  test('a custom tool gets the text itself; a namespaced one goes by its flat name', async () => {
    const tools: ModelCall['tools'] = [
      { kind: 'custom', name: 'patch' },
      { kind: 'function', name: 'find', namespace: 'files' },
    ]
    const { reply } = await run(callWith('patch and files__find', { tools }))
    expect(callsOf(reply)).toEqual([
      {
        kind: 'tool-call',
        id: 'call_sandbox_1',
        name: 'patch',
        arguments: 'patch and files__find',
        custom: true,
      },
      { kind: 'tool-call', id: 'call_sandbox_2', name: 'files__find', arguments: '{}' },
    ])
  })
})

describe('formats and modalities', () => {
  test('json and schema give JSON', async () => {
    expect(textOf((await run(callWith('hi "you"', { format: { kind: 'json' } }))).reply)).toBe(
      '{"echo":"hi \\"you\\""}',
    )
    const schema = { type: 'object', properties: { answer: { type: 'string' }, sure: { type: 'boolean' } } }
    const { reply, events } = await run(callWith('yes', { format: { kind: 'schema', schema } }))
    expect(textOf(reply)).toBe('{"answer":"yes","sure":true}')
    expect(deltasOf(events).length).toBeGreaterThan(1)
  })

  test('an image is a valid PNG and costs image tokens', async () => {
    const { reply } = await run(callWith('draw', { modalities: ['text', 'image'] }))
    const [text, image] = reply.choices[0]!.parts as [OutputPart, ImagePart]
    expect(text).toMatchObject({ text: 'draw' })
    const bytes = Buffer.from(image.source.kind === 'data' ? image.source.data : '', 'base64')
    expect(bytes.subarray(1, 4).toString()).toBe('PNG')
    expect(bytes.readUInt32BE(8 + 8 + 13)).toBe(crc32(bytes.subarray(12, 12 + 4 + 13)))
    expect(reply.usage).toMatchObject({ output: 1, outputImage: 256 })
  })

  test('audio is a WAV with its transcript, or bare samples', async () => {
    const { reply, events } = await run(
      callWith('say it', { modalities: ['text', 'audio'], audio: { format: 'wav' } }),
    )
    const [audio] = reply.choices[0]!.parts as [AudioPart]
    const bytes = Buffer.from(audio.data, 'base64')
    expect(bytes.subarray(0, 4).toString() + bytes.subarray(8, 12).toString()).toBe('RIFFWAVE')
    expect(bytes.readUInt32LE(4)).toBe(bytes.length - 8)
    expect(audio).toMatchObject({ format: 'wav', transcript: 'say it' })
    expect(deltasOf(events).every(({ delta }) => (delta.data ?? '').length % 4 === 0)).toBe(true)
    expect(reply.usage).toMatchObject({ output: 2, outputAudio: Math.ceil(bytes.length / 320) })
    const bare = await run(callWith('x', { modalities: ['audio'], audio: { format: 'pcm16' } }))
    expect(bare.reply.choices[0]!.parts[0]).toMatchObject({ format: 'pcm16' })
  })
})

describe('reasoner', () => {
  test('reasons before it replies, and counts reasoning tokens separately', async () => {
    const { reply } = await run(callWith('hello'), 'reasoner')
    const [reasoning, text] = reply.choices[0]!.parts
    expect(reasoning).toMatchObject({ kind: 'reasoning', format: 'unknown', summary: [] })
    expect(reasoning).not.toHaveProperty('signature')
    expect(text).toMatchObject({ kind: 'text', text: 'hello' })
    const length = reasoning?.kind === 'reasoning' ? reasoning.text.length : 0
    expect(reply.usage).toEqual({ ...zeroUsage, input: 2, output: 2, reasoning: Math.ceil(length / 4) })
  })

  test('more effort means more reasoning; none means none; exclude hides what is still counted', async () => {
    const thought = async (reasoning: ModelCall['reasoning']) => {
      const { reply } = await run(callWith('hello', reasoning ? { reasoning } : {}), 'reasoner')
      return { shown: reply.choices[0]!.parts.length === 2, tokens: reply.usage!.reasoning }
    }
    const medium = await thought(undefined)
    expect((await thought({ effort: 'high' })).tokens).toBeGreaterThan(medium.tokens)
    expect(await thought({ effort: 'none' })).toEqual({ shown: false, tokens: 0 })
    expect(await thought({ enabled: false })).toEqual({ shown: false, tokens: 0 })
    expect(await thought({ exclude: true })).toEqual({ shown: false, tokens: medium.tokens })
    expect(await thought({ maxTokens: 3 })).toEqual({ shown: true, tokens: 3 })
  })

  test('a signature is issued on demand, and rejected when its text was changed', async () => {
    const { reply } = await run(callWith('hello sandbox:signed'), 'reasoner')
    const parts = reply.choices[0]!.parts
    expect(parts[0]).toMatchObject({ format: 'vendor_a-v1' })
    expect((parts[0] as ReasoningPart).signature).toStartWith('sandbox.')
    const replay = (returned: OutputPart[]) =>
      run(
        {
          ...callWith(''),
          messages: [userMessage('hello'), { role: 'assistant', parts: returned }, userMessage('more')],
        },
        'reasoner',
      )
    expect((await replay(parts)).reply.failure).toBeNull()
    const changed = [{ ...parts[0], text: 'something else' } as OutputPart]
    expect((await replay(changed)).reply.failure).toMatchObject({ kind: 'invalid_request', status: 400 })
  })

  test('reasoning counts toward max_tokens', async () => {
    const { reply } = await run(callWith('hello', { maxTokens: 4 }), 'reasoner')
    expect(reply.usage).toMatchObject({ output: 0, reasoning: 4 })
    expect(reply.choices[0]?.end?.reason).toBe('length')
  })
})

describe('directives', () => {
  test('fail before the first content, with the status, its kind and retry-after', async () => {
    const { events } = await run(callWith('hi sandbox:error=429 sandbox:retry-after=7'))
    expect(events).toEqual([
      {
        type: 'reply-error',
        failure: {
          kind: 'rate_limit_exceeded',
          status: 429,
          message: 'The sandbox was directed to fail with rate_limit_exceeded.',
          code: 'sandbox_rate_limit_exceeded',
          retryAfterMs: 7000,
        },
      },
    ])
    expect((await run(callWith('sandbox:error=503'))).reply.failure?.kind).toBe('provider_overloaded')
    expect((await run(callWith('sandbox:error=context_length_exceeded'))).reply.failure).toMatchObject({
      kind: 'context_length_exceeded',
      status: 400,
    })
  })

  test('end or fail within the reply', async () => {
    const text = 'one two three four five six seven'
    const broken = await run(callWith(`${text} sandbox:break=5`))
    expect(textOf(broken.reply)).toBe('one two three four five')
    expect(broken.reply).toMatchObject({ isComplete: false, failure: null, usage: null })
    const failed = await run(callWith(`${text} sandbox:fail=5`))
    expect(textOf(failed.reply)).toBe('one two three four five')
    expect(failed.reply).toMatchObject({ isComplete: false, failure: { kind: 'server', status: null } })
    expect((await run(callWith('short sandbox:break=50'))).events.at(-1)?.type).toBe('part-end')
    expect((await run(callWith('sandbox:break=0 x'))).events.map((event) => event.type)).toEqual([
      'reply-start',
    ])
  })

  test('wait between deltas and before the first event', async () => {
    expect((await run(callWith('a b c sandbox:slow=200'))).waits).toEqual([200, 200])
    expect((await run(callWith('a b c sandbox:quiet=3000'))).waits).toEqual([3000])
  })

  test('an aborted call has no end event', async () => {
    const abort = new AbortController()
    const events: ReplyEvent[] = []
    const sleep = async () => abort.abort()
    for await (const event of simulate(callWith('a b c sandbox:slow=1'), 'echo', {
      signal: abort.signal,
      sleep,
      maxBytes: 1024,
    })) {
      events.push(event)
    }
    expect(textOf(collectReply(events))).toBe('a')
    expect(collectReply(events).isComplete).toBe(false)
  })

  test('length, empty, no-usage, refuse, filter and cite', async () => {
    expect(textOf((await run(callWith('sandbox:length=1000'))).reply).split(' ')).toHaveLength(1000)
    const empty = (await run(callWith('sandbox:empty'))).reply
    expect(empty.choices).toMatchObject([{ parts: [], end: { reason: 'stop' } }])
    expect(empty).toMatchObject({ isComplete: true, usage: { output: 0 } })
    expect((await run(callWith('x sandbox:no-usage'))).reply).toMatchObject({ isComplete: true, usage: null })
    const refusal = (await run(callWith('sandbox:refuse'))).reply.choices[0]
    expect(refusal).toMatchObject({
      parts: [{ kind: 'refusal' }],
      end: { reason: 'content_filter', native: 'refusal' },
    })
    expect((await run(callWith('a b c d sandbox:filter'))).reply.choices[0]).toMatchObject({
      parts: [{ text: 'a b c' }],
      end: { reason: 'content_filter', native: 'content_filter' },
    })
    expect((await run(callWith('known fact sandbox:cite'))).reply.choices[0]!.parts[0]).toMatchObject({
      text: 'known fact',
      citations: [{ url: 'https://example.com/sandbox', start: 0, end: 10 }],
    })
  })

  test('unknown directives are part of the text', async () => {
    for (const text of [
      'sandbox:unknown',
      'sandbox:error=abc',
      'sandbox:error=200',
      'sandbox/echo',
      'sandbox:slow',
    ]) {
      expect(textOf((await run(callWith(text))).reply)).toBe(text)
    }
  })

  test('each is explained in docs/sandbox.md', async () => {
    const text = await Bun.file('docs/sandbox.md').text()
    expect(directiveNames.filter((name) => !text.includes(`\`sandbox:${name}`))).toEqual([])
  })
})

describe('usage', () => {
  test('four characters per token, rounded up for each part and each tool', async () => {
    const messages: Message[] = [
      {
        role: 'system',
        parts: [
          { kind: 'text', text: '12345' },
          { kind: 'text', text: '1' },
        ],
      },
      userMessage('123456789'),
    ]
    const tool: FunctionTool = { kind: 'function', name: 'name', description: 'four', schema: {} }
    const { usage } = (await run({ ...callWith(''), messages, tools: [tool] })).reply
    expect(usage).toEqual({ ...zeroUsage, input: 2 + 1 + 3 + 3, output: 3 })
    expect(countPromptTokens(usage!)).toBe(9)
    expect(countCompletionTokens(usage!)).toBe(3)
  })

  test('a marked prefix is written to the cache, by its lifetime; cached reads it', async () => {
    const messages = (last: string): Message[] => [
      { role: 'system', parts: [{ kind: 'text', text: 'x'.repeat(40), cache: { ttl: '1h' } }] },
      {
        role: 'user',
        parts: [
          { kind: 'text', text: 'x'.repeat(20), cache: {} },
          { kind: 'text', text: last },
        ],
      },
    ]
    const usage = async (last: string) =>
      (await run({ ...callWith(''), messages: messages(last) })).reply.usage
    expect(await usage('rest')).toMatchObject({ input: 1, cacheRead: 0, cacheWrite: 5, cacheWrite1h: 10 })
    expect(await usage('sandbox:cached')).toMatchObject({
      input: 4,
      cacheRead: 15,
      cacheWrite: 0,
      cacheWrite1h: 0,
    })
  })

  test('without marks, cached means everything before the last message; a mark on the call means all', async () => {
    const messages: Message[] = [
      userMessage('x'.repeat(40)),
      { role: 'assistant', parts: [{ kind: 'text', text: 'x'.repeat(8) }] },
      userMessage('sandbox:cached'),
    ]
    expect((await run({ ...callWith(''), messages })).reply.usage).toMatchObject({ input: 4, cacheRead: 12 })
    expect((await run(callWith('12345678', { cache: {} }))).reply.usage).toMatchObject({
      input: 0,
      cacheWrite: 2,
    })
  })
})

describe('S13 a reply is bounded', () => {
  const failureOf = async (call: ModelCall) => (await run(call)).reply.failure

  test('over words, choices and logprobs', async () => {
    const tooLarge = { kind: 'provider_unavailable', code: 'sandbox_too_large' }
    const many = 'sandbox:length=200000'
    expect(await failureOf(callWith(many))).toBeNull()
    expect(await failureOf(callWith(many, { n: 128 }))).toMatchObject(tooLarge)
    expect(await failureOf(callWith(many, { logprobs: true, topLogprobs: 20 }))).toMatchObject(tooLarge)
    expect(await failureOf(callWith('sandbox:length=1000', { logprobs: true, topLogprobs: 20 }))).toBeNull()
  })

  test('before it is generated', async () => {
    const started = process.cpuUsage()
    await failureOf(callWith('sandbox:length=200000', { n: 128, logprobs: true, topLogprobs: 20 }))
    const rejectedTime = process.cpuUsage(started).user
    const allowed = process.cpuUsage()
    await failureOf(callWith('sandbox:length=200000'))
    expect(rejectedTime).toBeLessThan(5 * process.cpuUsage(allowed).user + 100_000)
  })

  test('by the limit of the caller', async () => {
    const options = { signal: new AbortController().signal, sleep: async () => undefined, maxBytes: 100 }
    const events = await Array.fromAsync(simulate(callWith('sandbox:length=100'), 'echo', options))
    expect(events.at(-1)).toMatchObject({ type: 'reply-error', failure: { code: 'sandbox_too_large' } })
  })
})

test('the sandbox is among the simulators', () => {
  expect(simulators.get('sandbox')).toMatchObject({ text: simulate })
})
