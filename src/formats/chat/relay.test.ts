import { describe, expect, test } from 'bun:test'
import {
  cost,
  createContext,
  delta,
  doneFrame,
  parseFrames,
  toFrames,
} from '../../../test/formats/fixtures/chat.ts'
import { gatewayError } from '../../platform/errors/gateway-error.ts'
import { collectReply } from '../call/event.ts'
import { zeroUsage } from '../call/usage.ts'
import { chat } from './chat.ts'

const text = (deltas: string[]) => [
  delta({ role: 'assistant', content: '' }),
  ...deltas.map((content) => delta({ content })),
]

function relayFrames(frames: { event: string; data: string }[], context = createContext()) {
  const relay = chat.passthrough.createRelay(context)
  const passed = frames.map((frame) => relay.pass(frame))
  return { relay, passed, chunks: parseFrames(passed.join('')).map(({ data }) => JSON.parse(data)) }
}

describe('relaying a stream', () => {
  test('replaces the id, model and provider in every chunk', () => {
    const { chunks } = relayFrames(toFrames(text(['a', 'b', 'c'])))
    expect(chunks).toHaveLength(4)
    for (const chunk of chunks) {
      expect(chunk).toMatchObject({ id: 'gen-1763190000-Kx2', model: 'acme/large', provider: 'Acme' })
    }
    expect(chunks.map((chunk) => chunk.choices[0].delta.content)).toEqual(['', 'a', 'b', 'c'])
  })

  test('keeps unknown fields at every level (R31)', () => {
    const extended = {
      choices: [{ index: 0, delta: { content: 'x', mood: 1 }, finish_reason: null, weight: 2 }],
      obfuscation: 'zz',
    }
    const head = { id: 'v', object: 'chat.completion.chunk', created: 1, model: 'm', region: 'eu-7' }
    const { chunks, relay } = relayFrames(
      toFrames([delta({ content: 'a' }), extended, { ...extended, ...delta({}, 'stop') }], head),
    )
    expect(chunks[1]).toMatchObject({
      region: 'eu-7',
      obfuscation: 'zz',
      choices: [{ weight: 2, delta: { mood: 1 } }],
    })
    const [last] = parseFrames(relay.end(zeroUsage, cost))
    expect(JSON.parse(last!.data)).toMatchObject({ region: 'eu-7', obfuscation: 'zz' })
  })

  test('drops null usage at any position, because strict clients reject it', () => {
    const behind = text(['a', 'b', 'c']).map((chunk) => ({ ...chunk, usage: null }))
    const before = text(['d', 'e', 'f']).map((chunk) => ({ usage: null, ...chunk }))
    const between = text(['g', 'h']).map((chunk) => ({ ...chunk, usage: null, obfuscation: 'zz' }))
    for (const input of [behind, before, between]) {
      const { chunks } = relayFrames(toFrames(input))
      expect(chunks).toHaveLength(input.length)
      for (const chunk of chunks) expect(chunk).not.toHaveProperty('usage')
    }
  })

  test('follows a vendor whose chunk prefix changes or has spaces', () => {
    const early = toFrames(text(['a', 'b']))
    const late = toFrames(text(['c', 'd']).slice(1), { id: 'v', object: 'o', created: 2, model: 'n' })
    const spaced = toFrames([delta({ content: 'e' }), delta({ content: 'f' }), delta({}, 'stop')]).map(
      ({ data }) => ({
        event: '',
        data: data.replaceAll('":', '": ').replaceAll(',"', ', "'),
      }),
    )
    const { chunks, relay } = relayFrames([...early, ...late, ...spaced])
    expect(chunks.map((chunk) => chunk.choices[0].delta.content).join('')).toBe('abcdef')
    expect(new Set(chunks.map(({ id, created, model }) => `${id} ${created} ${model}`)).size).toBe(1)
    expect(relay.summary.finishReasons).toEqual([{ reason: 'stop', native: 'stop' }])
  })

  test('parses chunks with vendor fields after the choices', () => {
    const frames = text(['a', 'b']).map((chunk) => ({
      event: '',
      data: JSON.stringify({ ...chunk, id: 'v', model: 'm' }),
    }))
    for (const chunk of relayFrames(frames).chunks)
      expect(chunk).toMatchObject({ id: 'gen-1763190000-Kx2', model: 'acme/large' })
  })

  test('text that looks like a field passes unmodified', () => {
    const deltas = [
      '"finish_reason":"stop"',
      '"usage":{',
      '"error":{"message":"no"}',
      '\\"',
      '}]}',
      '"reasoning_content":"',
    ]
    const { chunks, relay } = relayFrames(toFrames(text(deltas)))
    expect(chunks.slice(1).map((chunk) => chunk.choices[0].delta.content)).toEqual(deltas)
    expect(relay.summary).toMatchObject({ isComplete: false, failure: null, usage: null, finishReasons: [] })
  })

  test('holds the usage until the cost is known, and keeps the vendor’s own counts', () => {
    const usage = { prompt_tokens: 3, completion_tokens: 2, total_tokens: 5, queue_time: 0.1 }
    const { relay, passed } = relayFrames([
      ...toFrames([...text(['a']), delta({}, 'stop'), { choices: [], usage, service_tier: 'flex' }]),
      doneFrame,
    ])
    expect(passed.slice(-3)).toEqual(['', '', ''])
    expect(relay.summary).toMatchObject({
      isComplete: true,
      usage: { input: 3, output: 2 },
      model: 'large-2026-09',
    })
    const end = relay.end({ ...zeroUsage, input: 3, output: 2 }, cost)
    expect(JSON.parse(parseFrames(end).at(-2)!.data)).toMatchObject({
      id: 'gen-1763190000-Kx2',
      choices: [{ finish_reason: 'stop' }],
      service_tier: 'flex',
      usage: { prompt_tokens: 3, queue_time: 0.1, cost: 0.0042, is_byok: false },
    })
    expect(end.endsWith('data: [DONE]\n\n')).toBe(true)
  })

  test('adds usage if the vendor sends none', () => {
    const { relay } = relayFrames([...toFrames([...text(['a']), delta({}, 'stop')]), doneFrame])
    expect(relay.summary.usage).toBeNull()
    expect(
      JSON.parse(parseFrames(relay.end({ ...zeroUsage, input: 4, output: 1 }, cost)).at(-2)!.data),
    ).toMatchObject({
      usage: { prompt_tokens: 4, completion_tokens: 1, total_tokens: 5 },
    })
  })

  test('a reply is complete with a finish reason, and not before', () => {
    const cut = relayFrames(toFrames(text(['a', 'b'])))
    expect(cut.relay.summary).toMatchObject({ isComplete: false, hasContent: true })
    expect(relayFrames(toFrames([...text(['a']), delta({}, 'length')])).relay.summary.isComplete).toBe(true)
  })

  test('with several choices, all of them must finish', () => {
    const context = createContext({ n: 2 })
    const chunks = [delta({ content: 'a' }), delta({ content: 'b' }, null, 1), delta({}, 'stop')]
    expect(relayFrames(toFrames(chunks), context).relay.summary.isComplete).toBe(false)
    expect(relayFrames(toFrames([...chunks, delta({}, 'length', 1)]), context).relay.summary).toMatchObject({
      isComplete: true,
      finishReasons: [{ reason: 'stop' }, { reason: 'length' }],
    })
  })

  test('the finish reason is held until the end, because the reply may still fail (R33)', () => {
    const { relay, passed } = relayFrames(toFrames([...text(['a']), delta({ content: 'b' }, 'stop')]))
    expect(passed.join('')).not.toContain('"stop"')
    expect(relay.summary).toMatchObject({ isComplete: true, finishReasons: [{ reason: 'stop' }] })
    relay.pass({ event: '', data: '{"error":{"message":"Lost.","code":502}}' })
    expect(relay.summary.failure).toMatchObject({ message: 'Lost.' })
    expect(relay.fail(gatewayError('upstream_failed'))).not.toContain('"stop"')
    const other = relayFrames(toFrames([...text(['a']), delta({ content: 'b' }, 'stop')])).relay
    expect(parseFrames(other.end(zeroUsage, cost)).map(({ data }) => data)[0]).toContain('"content":"b"')
  })

  test('splices only JSON on one line', () => {
    const [first, ...frames] = toFrames(text(['a', 'b', 'c']))
    const lines = frames[1]!.data.replace('"choices"', '\n"choices"').replace('}]}', '}]\n}')
    const apart = relayFrames([first!, frames[0]!, { event: '', data: lines }, frames[2]!])
    expect(apart.chunks.map((chunk) => chunk.choices[0].delta.content)).toEqual(['', 'a', 'b', 'c'])
    const junk = ['},,, junk', '} {}', '},"x":1', ',,,}', ']}', ' junk}', ',"id":"v"}', '}}']
    for (const end of junk) {
      const data = frames[1]!.data.slice(0, -1) + end
      const { passed, relay } = relayFrames([first!, frames[0]!, { event: '', data }, frames[2]!])
      const shown = parseFrames(passed.join('')).map((frame) => JSON.parse(frame.data))
      for (const chunk of shown) expect(chunk.id).toBe('gen-1763190000-Kx2')
      if (end !== ',"id":"v"}') {
        expect(shown).toHaveLength(2)
        expect(relay.summary.failure).not.toBeNull()
      }
    }
  })

  test('chunks that differ only in their text pass with any text', () => {
    const texts = [
      'a',
      ' plain',
      '',
      '"',
      '\\',
      '\n',
      '\u0001',
      '","id":"x',
      '世界 🙂',
      'z'.repeat(5000),
      'end',
    ]
    const { chunks, relay } = relayFrames(toFrames(text(texts)))
    expect(chunks.slice(1).map((chunk) => chunk.choices[0].delta.content)).toEqual(texts)
    for (const chunk of chunks) expect(chunk.id).toBe('gen-1763190000-Kx2')
    expect(relay.summary.failure).toBeNull()
  })

  test('a chunk that lacks the quote around its text is malformed', () => {
    const frames = toFrames(text(['a', 'b', 'c']))
    const cut = frames.at(-1)?.data.replace('"c"', '"') ?? ''
    const { relay, passed } = relayFrames([...frames.slice(0, -1), { event: '', data: cut }])
    expect(passed.at(-1)).toBe('')
    expect(relay.summary.failure?.message).toContain('not a JSON object')
  })

  test('there is no content before the first content delta', () => {
    const empty = [delta({ role: 'assistant', content: '' }), delta({ content: null, reasoning_content: '' })]
    expect(relayFrames(toFrames(empty)).relay.summary.hasContent).toBe(false)
    for (const content of [
      { content: 'x' },
      { reasoning_content: 'x' },
      { refusal: 'x' },
      { audio: { data: 'AA' } },
    ]) {
      expect(relayFrames(toFrames([...empty, delta(content)])).relay.summary.hasContent).toBe(true)
    }
  })

  test('counts the characters of the content', () => {
    const deltas = Array.from({ length: 50 }, (_, at) => ` word${at}`)
    const { characters } = relayFrames(toFrames(text(deltas))).relay.summary
    expect(characters).toBe(deltas.join('').length)
  })

  test('adds the reasoning fields of this API, and removes reasoning if the client excludes it', () => {
    const chunks = ['Hm', ' "so"\\', '.'].map((thought) =>
      delta({ content: null, reasoning_content: thought }),
    )
    const shown = relayFrames(toFrames(chunks)).chunks
    expect(shown.map((chunk) => chunk.choices[0].delta.reasoning).join('')).toBe('Hm "so"\\.')
    expect(shown[2].choices[0].delta).toEqual({
      content: null,
      reasoning: '.',
      reasoning_details: [{ type: 'reasoning.text', text: '.', format: 'unknown', index: 0 }],
      reasoning_content: '.',
    })
    const hidden = relayFrames(toFrames(chunks), createContext({ reasoning: { exclude: true } }))
    expect(JSON.stringify(hidden.chunks)).not.toContain('reasoning')
    expect(hidden.relay.summary.hasContent).toBe(true)
  })

  test('a reply that is cut off ends with an error chunk and without [DONE]', () => {
    const { relay } = relayFrames(toFrames(text(['a'])))
    const end = relay.fail(gatewayError('request_timeout'))
    expect(end).not.toContain('[DONE]')
    expect(JSON.parse(parseFrames(end)[0]!.data)).toMatchObject({
      id: 'gen-1763190000-Kx2',
      error: { code: 408 },
      choices: [{ finish_reason: 'error' }],
    })
  })
})

test('a whole reply passes with the gateway fields, and unknown fields intact (R31)', () => {
  const body = {
    id: 'v-1',
    object: 'chat.completion',
    created: 5,
    model: 'large-2026-09',
    choices: [
      {
        index: 0,
        message: { role: 'assistant', content: 'Hi', reasoning_content: 'Hm', mood: 'good' },
        finish_reason: 'eos',
        seed: 7,
      },
    ],
    usage: { prompt_tokens: 3, completion_tokens: 2, total_tokens: 5, queue_time: 0.1 },
    x_vendor: { id: 'r' },
  }
  const usage = { ...zeroUsage, input: 3, output: 2 }
  expect(chat.passthrough.passReply(body, createContext(), cost, usage)).toMatchObject({
    id: 'gen-1763190000-Kx2',
    model: 'acme/large',
    provider: 'Acme',
    created: 1_763_190_000,
    system_fingerprint: null,
    x_vendor: { id: 'r' },
    choices: [
      {
        seed: 7,
        finish_reason: 'stop',
        native_finish_reason: 'eos',
        message: { content: 'Hi', refusal: null, reasoning: 'Hm', mood: 'good' },
      },
    ],
    usage: { prompt_tokens: 3, queue_time: 0.1, cost: 0.0042 },
  })
})

describe('a whole reply that was cut off carries the error (R33)', () => {
  const usage = { ...zeroUsage, input: 3, output: 2 }
  const choice = { index: 0, message: { role: 'assistant', content: 'Hi' } }
  const pass = (body: object) => chat.passthrough.passReply({ ...body }, createContext(), cost, usage)
  const translate = (body: object) =>
    chat.client.encodeReply(collectReply(chat.upstream.decodeReply({ ...body })), createContext(), cost)
  const error = { code: 503, message: 'Overloaded.', type: 'overloaded_error' }

  test.each([
    [
      'an error next to the choices',
      { choices: [{ ...choice, finish_reason: 'stop' }], error },
      'Overloaded.',
    ],
    ['an error in a choice', { choices: [{ ...choice, finish_reason: 'stop', error }] }, 'Overloaded.'],
    ['an error and no finish reason', { choices: [choice], error }, 'Overloaded.'],
    [
      'a finish reason',
      { choices: [{ ...choice, finish_reason: 'network_error' }] },
      'ended its reply with an error',
    ],
  ])('%s', (_name, body, message) => {
    for (const reply of [pass(body), translate(body)]) {
      expect(reply).not.toHaveProperty('error')
      expect(reply.choices).toMatchObject([
        {
          message: { content: 'Hi' },
          finish_reason: 'error',
          error: { code: expect.any(Number), message: expect.stringContaining(message) },
        },
      ])
    }
    expect(chat.passthrough.summarizeReply?.({ ...body })).toBeUndefined()
  })

  test('a null error stays unchanged', () => {
    const body = { choices: [{ ...choice, finish_reason: 'stop' }], error: null }
    expect(pass(body)).toMatchObject({ error: null, choices: [{ finish_reason: 'stop' }] })
  })

  test('the format can carry a failure', () => {
    expect(chat.client.canEncodeFailure).toBe(true)
  })
})
