import { describe, expect, test } from 'bun:test'
import { vendorReply } from '../support/replies.ts'
import { describeRouting, sendRouted } from './routing-fixture.ts'

const minute = 60_000
const conversation = { model: 'test/cached' }
const { body: cachedReply } = vendorReply('chat', 'text')
const { body: plainReply } = vendorReply('chat', 'cutShort')

describeRouting('a conversation', (routed) => {
  const send = (body: object, headers: Record<string, string> = {}, format?: 'messages' | 'responses') =>
    sendRouted(routed(), { ...conversation, ...body }, { headers, ...(format && { format }) })
  const answeredBy = () => routed().upstream.requests.at(-1)?.json.model

  /** The first turn goes to the third endpoint, because it is drawn; later draws pick the first. */
  const begin = async (body: object, headers: Record<string, string> = {}) => {
    const { routing } = routed().server.gateway
    routing.random = () => 0.999999
    await send(body, headers)
    routing.random = () => 0
    expect(answeredBy()).toBe('cached gamma')
  }
  const nextIsAt = async (endpoint: string, body: object, headers: Record<string, string> = {}) => {
    await send(body, headers)
    expect(answeredBy()).toBe(`cached ${endpoint}`)
  }

  describe('is identified by', () => {
    test.each([
      ['session_id in the body', { session_id: 'one' }, {}],
      ['prompt_cache_key', { prompt_cache_key: 'one' }, {}],
      ['x-session-id', {}, { 'x-session-id': 'one' }],
      ['x-claude-code-session-id', {}, { 'x-claude-code-session-id': 'one' }],
      ['session-id', {}, { 'session-id': 'one' }],
      ['x-session-affinity', {}, { 'x-session-affinity': 'one' }],
      ['X-OpenWebUI-Chat-Id', {}, { 'X-OpenWebUI-Chat-Id': 'one' }],
    ] as const)('%s', async (_, body, headers) => {
      routed().upstream.setDefault({ json: plainReply })
      await begin(body, { ...headers })
      await nextIsAt('gamma', body, { ...headers })
      await nextIsAt(
        'gamma',
        { ...body, messages: [{ role: 'user', content: 'Something else' }] },
        { ...headers },
      )
      await nextIsAt('alpha', {})
    })

    test('session_id before a header, a header before prompt_cache_key', async () => {
      routed().upstream.setDefault({ json: plainReply })
      const headers = { 'x-session-id': 'two' }
      await begin({ session_id: 'one', prompt_cache_key: 'three' }, headers)
      await nextIsAt('gamma', { session_id: 'one' })
      await nextIsAt('alpha', {}, headers)
      await nextIsAt('alpha', { prompt_cache_key: 'three' })
    })

    test('its first messages, after a cache hit', async () => {
      const [first, other] = ['Tell me of Oslo', 'Tell me of Kyoto'].map((content) => [
        { role: 'user', content },
      ])
      const longer = [
        ...(first ?? []),
        { role: 'assistant', content: 'A city.' },
        { role: 'user', content: 'More' },
      ]
      routed().upstream.setDefault({ json: cachedReply })
      await begin({ messages: first })
      await nextIsAt('gamma', { messages: longer })
      await nextIsAt('alpha', { messages: other })
    })

    test('nothing, without a cache hit and without a session id', async () => {
      routed().upstream.setDefault({ json: plainReply })
      await begin({})
      await nextIsAt('alpha', {})
    })
  })

  test('is forgotten ten minutes after its last turn', async () => {
    const { clock } = routed().server
    const session = { session_id: 'resting' }
    await begin(session)
    for (let turn = 0; turn < 3; turn++) {
      clock.advance(10 * minute - 1000)
      await nextIsAt('gamma', session)
    }
    clock.advance(10 * minute)
    await nextIsAt('alpha', session)
  })

  test('is sticky per model and organization', async () => {
    await begin({ session_id: 'mine' })
    await nextIsAt('gamma', { session_id: 'mine' })
    await sendRouted(routed(), { model: 'test/plain', session_id: 'mine' })
    expect(answeredBy()).toBe('plain alpha')
  })

  test('is not sticky where cache reads are no cheaper', async () => {
    const { routing } = routed().server.gateway
    routing.random = () => 0.999999
    await sendRouted(routed(), { model: 'test/plain', session_id: 'dear' })
    expect(answeredBy()).toBe('plain gamma')
    routing.random = () => 0
    await sendRouted(routed(), { model: 'test/plain', session_id: 'dear' })
    expect(answeredBy()).toBe('plain alpha')
  })

  test('is overridden by provider.order and by sort', async () => {
    const session = { session_id: 'ordered' }
    await begin(session)
    await nextIsAt('beta', { ...session, provider: { order: ['beta'] } })
    await begin({ session_id: 'sorted' })
    await nextIsAt('alpha', { session_id: 'sorted', provider: { sort: 'price' } })
  })

  test('moves away from an endpoint that fails, unnoticed by the client, and stays there', async () => {
    const session = { session_id: 'moving' }
    await begin(session)
    routed().upstream.enqueue({ status: 500, json: {} })
    const { status } = await send(session)
    expect(status).toBe(200)
    expect(answeredBy()).toBe('cached alpha')
    await nextIsAt('alpha', session)
  })

  test('does not move after a failure caused by its request', async () => {
    const session = { session_id: 'wrong' }
    await begin(session)
    routed().upstream.enqueue({ status: 400, json: { error: { message: 'no' } } })
    expect((await send(session)).status).toBe(400)
    await nextIsAt('gamma', session)
  })
})
