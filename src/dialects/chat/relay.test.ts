import { describe, expect, test } from 'bun:test'
import { collectReply } from '../../call/event.ts'
import { zeroUsage } from '../../call/usage.ts'
import { gatewayError } from '../../errors/gateway-error.ts'
import { chat } from './chat.ts'
import { cost, delta, doneFrame, factsFor, framesFrom, framesOf } from './fixtures/given.ts'

const text = (words: string[]) => [
  delta({ role: 'assistant', content: '' }),
  ...words.map((content) => delta({ content })),
]

function relayed(frames: { event: string; data: string }[], facts = factsFor()) {
  const relay = chat.passthrough.createRelay(facts)
  const passed = frames.map((frame) => relay.pass(frame))
  return { relay, passed, chunks: framesOf(passed.join('')).map(({ data }) => JSON.parse(data)) }
}

describe('relaying a stream', () => {
  test('puts our id, model and provider in place of the vendor’s in every chunk', () => {
    const { chunks } = relayed(framesFrom(text(['a', 'b', 'c'])))
    expect(chunks).toHaveLength(4)
    for (const chunk of chunks) {
      expect(chunk).toMatchObject({ id: 'gen-1763190000-Kx2', model: 'acme/large', provider: 'Acme' })
    }
    expect(chunks.map((chunk) => chunk.choices[0].delta.content)).toEqual(['', 'a', 'b', 'c'])
  })

  test('keeps fields that nobody knows, at every level (R31)', () => {
    const odd = {
      choices: [{ index: 0, delta: { content: 'x', mood: 1 }, finish_reason: null, weight: 2 }],
      obfuscation: 'zz',
    }
    const head = { id: 'v', object: 'chat.completion.chunk', created: 1, model: 'm', region: 'eu-7' }
    const { chunks, relay } = relayed(
      framesFrom([delta({ content: 'a' }), odd, { ...odd, ...delta({}, 'stop') }], head),
    )
    expect(chunks[1]).toMatchObject({
      region: 'eu-7',
      obfuscation: 'zz',
      choices: [{ weight: 2, delta: { mood: 1 } }],
    })
    const [last] = framesOf(relay.end(zeroUsage, cost))
    expect(JSON.parse(last!.data)).toMatchObject({ region: 'eu-7', obfuscation: 'zz' })
  })

  test('leaves out a usage that is none, wherever it stands: strict clients take an object or nothing', () => {
    const behind = text(['a', 'b', 'c']).map((chunk) => ({ ...chunk, usage: null }))
    const before = text(['d', 'e', 'f']).map((chunk) => ({ usage: null, ...chunk }))
    const between = text(['g', 'h']).map((chunk) => ({ ...chunk, usage: null, obfuscation: 'zz' }))
    for (const given of [behind, before, between]) {
      const { chunks } = relayed(framesFrom(given))
      expect(chunks).toHaveLength(given.length)
      for (const chunk of chunks) expect(chunk).not.toHaveProperty('usage')
    }
  })

  test('follows a vendor whose beginning changes, or spaces its JSON', () => {
    const early = framesFrom(text(['a', 'b']))
    const late = framesFrom(text(['c', 'd']).slice(1), { id: 'v', object: 'o', created: 2, model: 'n' })
    const spaced = framesFrom([delta({ content: 'e' }), delta({ content: 'f' }), delta({}, 'stop')]).map(
      ({ data }) => ({
        event: '',
        data: data.replaceAll('":', '": ').replaceAll(',"', ', "'),
      }),
    )
    const { chunks, relay } = relayed([...early, ...late, ...spaced])
    expect(chunks.map((chunk) => chunk.choices[0].delta.content).join('')).toBe('abcdef')
    expect(new Set(chunks.map(({ id, created, model }) => `${id} ${created} ${model}`)).size).toBe(1)
    expect(relay.summary.finishReasons).toEqual([{ reason: 'stop', native: 'stop' }])
  })

  test('reads chunks whose own words stand behind the choices', () => {
    const frames = text(['a', 'b']).map((chunk) => ({
      event: '',
      data: JSON.stringify({ ...chunk, id: 'v', model: 'm' }),
    }))
    for (const chunk of relayed(frames).chunks)
      expect(chunk).toMatchObject({ id: 'gen-1763190000-Kx2', model: 'acme/large' })
  })

  test('text that looks like a field passes as text', () => {
    const words = [
      '"finish_reason":"stop"',
      '"usage":{',
      '"error":{"message":"no"}',
      '\\"',
      '}]}',
      '"reasoning_content":"',
    ]
    const { chunks, relay } = relayed(framesFrom(text(words)))
    expect(chunks.slice(1).map((chunk) => chunk.choices[0].delta.content)).toEqual(words)
    expect(relay.summary).toMatchObject({ isComplete: false, failure: null, usage: null, finishReasons: [] })
  })

  test('holds the usage back until the bill is known, and keeps the vendor’s own counts', () => {
    const usage = { prompt_tokens: 3, completion_tokens: 2, total_tokens: 5, queue_time: 0.1 }
    const { relay, passed } = relayed([
      ...framesFrom([...text(['a']), delta({}, 'stop'), { choices: [], usage, service_tier: 'flex' }]),
      doneFrame,
    ])
    expect(passed.slice(-3)).toEqual(['', '', ''])
    expect(relay.summary).toMatchObject({
      isComplete: true,
      usage: { input: 3, output: 2 },
      model: 'large-2026-09',
    })
    const end = relay.end({ ...zeroUsage, input: 3, output: 2 }, cost)
    expect(JSON.parse(framesOf(end).at(-2)!.data)).toMatchObject({
      id: 'gen-1763190000-Kx2',
      choices: [{ finish_reason: 'stop' }],
      service_tier: 'flex',
      usage: { prompt_tokens: 3, queue_time: 0.1, cost: 0.0042, is_byok: false },
    })
    expect(end.endsWith('data: [DONE]\n\n')).toBe(true)
  })

  test('makes up the usage where the vendor sends none', () => {
    const { relay } = relayed([...framesFrom([...text(['a']), delta({}, 'stop')]), doneFrame])
    expect(relay.summary.usage).toBeNull()
    expect(
      JSON.parse(framesOf(relay.end({ ...zeroUsage, input: 4, output: 1 }, cost)).at(-2)!.data),
    ).toMatchObject({
      usage: { prompt_tokens: 4, completion_tokens: 1, total_tokens: 5 },
    })
  })

  test('a finish reason is enough for a complete reply; nothing less is', () => {
    const cut = relayed(framesFrom(text(['a', 'b'])))
    expect(cut.relay.summary).toMatchObject({ isComplete: false, hasContent: true })
    expect(relayed(framesFrom([...text(['a']), delta({}, 'length')])).relay.summary.isComplete).toBe(true)
  })

  test('with several answers, all of them must finish', () => {
    const facts = factsFor({ n: 2 })
    const chunks = [delta({ content: 'a' }), delta({ content: 'b' }, null, 1), delta({}, 'stop')]
    expect(relayed(framesFrom(chunks), facts).relay.summary.isComplete).toBe(false)
    expect(relayed(framesFrom([...chunks, delta({}, 'length', 1)]), facts).relay.summary).toMatchObject({
      isComplete: true,
      finishReasons: [{ reason: 'stop' }, { reason: 'length' }],
    })
  })

  test('how it finished is not shown before the reply is over: it may still break off (R33)', () => {
    const { relay, passed } = relayed(framesFrom([...text(['a']), delta({ content: 'b' }, 'stop')]))
    expect(passed.join('')).not.toContain('"stop"')
    expect(relay.summary).toMatchObject({ isComplete: true, finishReasons: [{ reason: 'stop' }] })
    relay.pass({ event: '', data: '{"error":{"message":"Lost.","code":502}}' })
    expect(relay.summary.failure).toMatchObject({ message: 'Lost.' })
    expect(relay.fail(gatewayError('upstream_failed'))).not.toContain('"stop"')
    const other = relayed(framesFrom([...text(['a']), delta({ content: 'b' }, 'stop')])).relay
    expect(framesOf(other.end(zeroUsage, cost)).map(({ data }) => data)[0]).toContain('"content":"b"')
  })

  test('passes nothing unread that is not JSON on one line', () => {
    const [first, ...frames] = framesFrom(text(['a', 'b', 'c']))
    const lines = frames[1]!.data.replace('"choices"', '\n"choices"').replace('}]}', '}]\n}')
    const apart = relayed([first!, frames[0]!, { event: '', data: lines }, frames[2]!])
    expect(apart.chunks.map((chunk) => chunk.choices[0].delta.content)).toEqual(['', 'a', 'b', 'c'])
    const junk = ['},,, junk', '} {}', '},"x":1', ',,,}', ']}', ' junk}', ',"id":"v"}', '}}']
    for (const end of junk) {
      const data = frames[1]!.data.slice(0, -1) + end
      const { passed, relay } = relayed([first!, frames[0]!, { event: '', data }, frames[2]!])
      const shown = framesOf(passed.join('')).map((frame) => JSON.parse(frame.data))
      for (const chunk of shown) expect(chunk.id).toBe('gen-1763190000-Kx2')
      if (end !== ',"id":"v"}') {
        expect(shown).toHaveLength(2)
        expect(relay.summary.failure).not.toBeNull()
      }
    }
  })

  test('nothing is content before something of the answer is there', () => {
    const empty = [delta({ role: 'assistant', content: '' }), delta({ content: null, reasoning_content: '' })]
    expect(relayed(framesFrom(empty)).relay.summary.hasContent).toBe(false)
    for (const said of [
      { content: 'x' },
      { reasoning_content: 'x' },
      { refusal: 'x' },
      { audio: { data: 'AA' } },
    ]) {
      expect(relayed(framesFrom([...empty, delta(said)])).relay.summary.hasContent).toBe(true)
    }
  })

  test('counts about as many characters as there are', () => {
    const words = Array.from({ length: 50 }, (_, at) => ` word${at}`)
    const { characters } = relayed(framesFrom(text(words))).relay.summary
    expect(characters).toBe(words.join('').length)
  })

  test('gives thinking the names of this API, and hides it from who does not want it', () => {
    const chunks = ['Hm', ' "so"\\', '.'].map((thought) =>
      delta({ content: null, reasoning_content: thought }),
    )
    const shown = relayed(framesFrom(chunks)).chunks
    expect(shown.map((chunk) => chunk.choices[0].delta.reasoning).join('')).toBe('Hm "so"\\.')
    expect(shown[2].choices[0].delta).toEqual({
      content: null,
      reasoning: '.',
      reasoning_details: [{ type: 'reasoning.text', text: '.', format: 'unknown', index: 0 }],
      reasoning_content: '.',
    })
    const hidden = relayed(framesFrom(chunks), factsFor({ reasoning: { exclude: true } }))
    expect(JSON.stringify(hidden.chunks)).not.toContain('reasoning')
    expect(hidden.relay.summary.hasContent).toBe(true)
  })

  test('a reply that breaks off ends with an error chunk and without [DONE]', () => {
    const { relay } = relayed(framesFrom(text(['a'])))
    const end = relay.fail(gatewayError('request_timeout'))
    expect(end).not.toContain('[DONE]')
    expect(JSON.parse(framesOf(end)[0]!.data)).toMatchObject({
      id: 'gen-1763190000-Kx2',
      error: { code: 408 },
      choices: [{ finish_reason: 'error' }],
    })
  })
})

test('a whole reply passes with our words about it, and unknown fields intact (R31)', () => {
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
  expect(chat.passthrough.passReply(body, factsFor(), cost, usage)).toMatchObject({
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

describe('a whole reply that broke off says so, and why (R33)', () => {
  const usage = { ...zeroUsage, input: 3, output: 2 }
  const said = { index: 0, message: { role: 'assistant', content: 'Hi' } }
  const passed = (body: object) => chat.passthrough.passReply({ ...body }, factsFor(), cost, usage)
  const translated = (body: object) =>
    chat.client.encodeReply(collectReply(chat.upstream.decodeReply({ ...body })), factsFor(), cost)
  const told = { code: 503, message: 'Overloaded.', type: 'overloaded_error' }

  test.each([
    [
      'an error beside the choices',
      { choices: [{ ...said, finish_reason: 'stop' }], error: told },
      'Overloaded.',
    ],
    ['an error in a choice', { choices: [{ ...said, finish_reason: 'stop', error: told }] }, 'Overloaded.'],
    ['an error and no finish reason', { choices: [said], error: told }, 'Overloaded.'],
    [
      'a finish reason',
      { choices: [{ ...said, finish_reason: 'network_error' }] },
      'ended its reply with an error',
    ],
  ])('%s', (_name, body, message) => {
    for (const reply of [passed(body), translated(body)]) {
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

  test('an error that is none stays as it came', () => {
    const body = { choices: [{ ...said, finish_reason: 'stop' }], error: null }
    expect(passed(body)).toMatchObject({ error: null, choices: [{ finish_reason: 'stop' }] })
  })

  test('clients of this format can be told', () => {
    expect(chat.client.canEncodeFailure).toBe(true)
  })
})
