import { expect, test } from 'bun:test'
import {
  maxFollowersPerCaller,
  maxFollowersPerOrganization,
} from '../../src/analytics/request-log/followers.ts'
import { maxRecordedPerMinute } from '../../src/analytics/request-log/rejected.ts'
import { createEventStream } from '../../src/api/analytics/generations/log-stream.ts'
import { flushRequestLog } from '../../src/gateway/request-log.ts'
import { createSessionCaller } from '../support/harness.ts'
import { vendorReply } from '../support/replies.ts'
import { describeWithUpstreams, readJson, sendRequest } from './two-upstreams.ts'

/** Sums amounts in nano-dollars; the amounts themselves have more digits. */
function sumAmounts(lines: { amount: string }[]): number {
  const digits = 39
  const sum = lines.reduce((total, { amount }) => {
    const [whole = '0', fraction = ''] = amount.replace('-', '').split('.')
    const value = BigInt(whole + fraction.padEnd(digits, '0'))
    return amount.startsWith('-') ? total - value : total + value
  }, 0n)
  const nano = 10n ** BigInt(digits - 9)
  expect(sum % nano).toBe(0n)
  return Number(sum / nano)
}

test('S13 a reader that is too slow is told so and dropped, before much waits for it', async () => {
  let ended = 0
  const { readable, writer } = createEventStream(() => ended++)
  for (let n = 0; n < 1000; n++) writer.send(`: ${'x'.repeat(1000)}\n\n`)
  expect(ended).toBe(1)
  const text = await new Response(readable).text()
  expect(text).toContain('event: end\ndata: {"reason":"slow_reader"')
  expect(text.length).toBeLessThan(300_000)
})

describeWithUpstreams('the list of requests', (bench) => {
  const server = () => bench().server
  const send = (body: Record<string, unknown>, key?: string) =>
    sendRequest(bench(), 'chat', body, key === undefined ? {} : { key })
  const list = async (query: string) => {
    await flushRequestLog(server().gateway)
    return (await server().call('GET', `/generations?${query}`)).body.data
  }

  test('has refused requests with the reason, and failed ones once', async () => {
    const made = await server().call('POST', '/keys', { body: { name: 'poor', limit: 0.000001 } })
    const limited = await send({ model: 'test/cent', session_id: 'refused' }, made.body.key)
    expect(limited.status).toBe(402)
    const unknown = await send({ model: 'test/none', session_id: 'refused' })
    expect(unknown.status).toBe(400)
    const excluded = await send({ model: 'test/chat', provider: { only: ['nobody'] }, session_id: 'refused' })
    expect(excluded.status).toBe(503)
    const invalid = await send({ model: 'test/chat', temperature: 'hot' })
    expect(invalid.status).toBe(400)
    const [noProvider, noModel, noMoney] = await list('session_id=refused')
    expect(noProvider).toMatchObject({ status: 'refused', error_code: 'no_provider', attempts: 0 })
    expect(noModel).toMatchObject({ error_code: 'model_unknown', requested_model: 'test/none' })
    expect(noMoney).toMatchObject({
      error_code: 'key_limit_reached',
      key: { name: 'poor', hash: made.body.data.hash },
      format: 'chat',
      cost: 0,
    })
    expect(limited.headers.get('x-generation-id')).toBe(noMoney.id)
    const requestId = invalid.headers.get('x-request-id')
    expect(await list(`request_id=${requestId}`)).toMatchObject([
      { error_code: 'invalid_request', requested_model: null, format: null },
    ])
    bench().first.enqueue({ status: 400, json: { error: { message: 'no' } } })
    const failed = await send({ model: 'test/chat', session_id: 'failed' })
    expect(failed.status).toBe(400)
    expect(await list('session_id=failed')).toMatchObject([{ status: 'failed', attempts: 1 }])
  })

  test('R40 a flood of refusals is bounded and counted, and has no content', async () => {
    const { gateway } = server()
    await gateway.requestLog.rejected.flush(true)
    server().clock.freeze('2031-01-01T00:00:10.000Z')
    const canary = 'canary-prompt-text'
    const messages = [{ role: 'user', content: canary }]
    for (let n = 0; n < maxRecordedPerMinute + 5; n++)
      await (await send({ model: 'test/none', messages, session_id: 'flood' })).text()
    server().clock.freeze('2031-01-01T00:01:10.000Z')
    const entries = await list('session_id=flood&limit=100&to=2031-01-01T00:00:20Z')
    const rows = await gateway.db
      .selectFrom('refused_requests')
      .selectAll()
      .where('session_id', '=', 'flood')
      .execute()
    expect(rows).toHaveLength(maxRecordedPerMinute + 1)
    expect(Math.max(...rows.map(({ requests }) => requests))).toBe(5)
    expect(entries).toHaveLength(100)
    expect(JSON.stringify(rows)).not.toContain(canary)
    server().clock.release()
  })

  const explain = async (id: string) => {
    await flushRequestLog(server().gateway)
    return (await server().call('GET', `/generation/explanation?id=${id}`)).body.data
  }

  const setLogging = (is_observability_io_logging_enabled: boolean, io_logging_sampling_rate = 1) =>
    server().call('PATCH', `/workspaces/${server().own.workspace.id}`, {
      body: { is_observability_io_logging_enabled, io_logging_sampling_rate },
    })

  /** Returns what is stored of an error that quotes the prompt. */
  async function failQuoting(body: Record<string, unknown>, key?: string): Promise<string> {
    const { gateway } = server()
    const error = { message: 'No policy allows "canary-of-the-prompt" for org-AbCdEf123456789', code: 'E7' }
    for (const upstream of [bench().first, bench().second])
      upstream.setDefault({ status: 400, json: { error } })
    const failed = await send(body, key)
    expect([failed.status, (await readJson(failed)).error.message]).toEqual([
      400,
      expect.stringContaining('canary-of-the-prompt'),
    ])
    for (const upstream of [bench().first, bench().second]) upstream.setDefault(null)
    const id = failed.headers.get('x-generation-id') ?? ''
    const [attempt] = (await explain(id)).attempts
    expect([attempt.status, attempt.outcome, attempt.provider_code]).toEqual([400, 'invalid_request', 'E7'])
    const row = await gateway.db
      .selectFrom('generations')
      .select('attempts')
      .where('id', '=', id)
      .executeTakeFirstOrThrow()
    expect(row.attempts).not.toContain('org-AbCdEf123456789')
    expect(row.attempts).toContain(JSON.stringify(attempt.message).slice(1, -1))
    return attempt.message
  }

  test('R40 a failed request is explained in the words of its provider only if its content is stored', async () => {
    const generic = 'The provider rejected the request as invalid.'
    const plain = { model: 'test/chat' }
    expect(await failQuoting(plain)).toBe(generic)
    await setLogging(true)
    expect(await failQuoting(plain)).toStartWith('No policy allows "canary-of-the-prompt" for ')
    await setLogging(true, 0.0001)
    expect(await failQuoting(plain)).toBe(generic)
    await setLogging(true)
    expect(await failQuoting({ model: 'test/both-chat', provider: { zdr: true } })).toBe(generic)
    const { call } = server()
    const made = (await call('POST', '/keys', { body: { name: 'zdr' } })).body
    const rules = { name: 'zdr', enforce_zdr: true }
    const guardrail = (await call('POST', '/guardrails', { body: rules })).body.data
    const assignment = { body: { key_hashes: [made.data.hash] } }
    await call('POST', `/guardrails/${guardrail.id}/assignments/keys`, assignment)
    expect(await failQuoting({ model: 'test/both-chat' }, made.key)).toBe(generic)
    await setLogging(false)
  })

  test('R40 nor are the words in which a stream broke off', async () => {
    const frames = [
      'data: {"id":"1","choices":[{"index":0,"delta":{"content":"Hi"}}]}\n\n',
      'data: {"error":{"message":"canary-of-the-prompt","code":500}}\n\n',
    ]
    bench().first.enqueue({ sse: frames })
    const failed = await send({ model: 'test/chat', stream: true })
    expect(await failed.text()).toContain('canary-of-the-prompt')
    const id = failed.headers.get('x-generation-id') ?? ''
    const { attempts } = await explain(id)
    expect(attempts[0].message).toBe('The provider could not be reached, or failed.')
  })

  test('a request is explained: candidates, attempts, the price to the nano-dollar, the nearest limit', async () => {
    const made = await server().call('POST', '/keys', { body: { name: 'limited', limit: 5 } })
    bench().first.enqueue({ json: vendorReply('chat', 'text').body })
    const body = { model: 'test/chat', provider: { allow_fallbacks: true } }
    const { id } = await readJson(await send(body, made.body.key))
    const explained = await explain(id)
    expect(explained).toMatchObject({ status: 'completed', refusal: null, dropped: [] })
    const { candidates } = explained.routing
    expect(candidates.map(({ rank }: { rank: number }) => rank)).toEqual(
      candidates.map((_: unknown, n: number) => n + 1),
    )
    expect(candidates.filter(({ outcome }: { outcome: string }) => outcome === 'served')).toHaveLength(1)
    expect(explained.routing.params).toEqual({ allow_fallbacks: true })
    expect(explained.attempts).toHaveLength(1)
    expect(explained.stages[0].name).toBe('gateway')
    const { price, nearest_limit } = explained
    expect(sumAmounts(price.lines)).toBe(Math.round(price.charge * 1e9))
    expect(price.lines[0]).toMatchObject({ kind: 'input', unit: 'token' })
    expect(price.hold).toBeCloseTo(price.charge + price.released, 9)
    expect(nearest_limit).toMatchObject({ kind: 'key', subject: 'key', limit: 5, remaining: 5 })
    expect(nearest_limit.left).toBeCloseTo(5 - nearest_limit.needed, 9)
  })

  test('a caller can have five streams', async () => {
    const made = await server().call('POST', '/keys', { body: { name: 'greedy' } })
    const open = () =>
      fetch(`${server().url}/api/v1/generations/stream`, {
        headers: { authorization: `Bearer ${made.body.key}` },
      })
    const streams = await Promise.all(Array.from({ length: maxFollowersPerCaller }, open))
    expect(streams.map(({ status }) => status)).toEqual(streams.map(() => 200))
    expect((await open()).status).toBe(429)
    await Promise.all(streams.map(({ body }) => body?.cancel()))
  })

  test('a member has five streams in all workspaces together', async () => {
    const { own, url } = server()
    const made = await server().call('POST', '/workspaces', { body: { name: 'Streams', slug: 'streams' } })
    const places = [own.workspace.id, made.body.data.id as string]
    const { headers } = await createSessionCaller(server(), { role: 'org:admin' })
    const open = (place: string | undefined) =>
      fetch(`${url}/api/v1/generations/stream`, {
        headers: { ...headers, 'x-headgate-workspace': place ?? '' },
      })
    const streams = await Promise.all(Array.from({ length: 6 }, (_, n) => open(places[n % 2])))
    expect(streams.map(({ status }) => status).sort()).toEqual([200, 200, 200, 200, 200, 429])
    await Promise.all(streams.map(({ body }) => body?.cancel()))
  })

  test('R37 an organization cannot take the streams of others', () => {
    const { followers } = server().gateway.requestLog
    const create = (organizationId: string, n: number) => ({
      callerId: `caller ${n}`,
      organizationId,
      receive: async () => undefined,
      end: () => undefined,
    })
    const greedy = Array.from({ length: maxFollowersPerOrganization }, (_, n) => create('greedy', n))
    for (const follower of greedy) followers.add(follower)
    expect(() => followers.add(create('greedy', greedy.length))).toThrow('At most')
    const other = create('other', greedy.length)
    followers.add(other)
    for (const follower of [...greedy, other]) followers.remove(follower)
  })

  test('a quote that is refused is not in the list', async () => {
    const body = { model: 'test/none', messages: [], session_id: 'quoted' }
    expect((await server().call('POST', '/quote', { body, key: server().own.inferenceKey })).status).toBe(400)
    const { length } = await list('status=refused&limit=100')
    await server().call('POST', '/quote', { body, key: server().own.inferenceKey })
    expect(await list('status=refused&limit=100')).toHaveLength(length)
  })

  test('one plan is stored for requests that are routed alike', async () => {
    const { gateway } = server()
    for (let n = 0; n < 3; n++) await (await send({ model: 'sandbox/echo', session_id: 'alike' })).text()
    const rows = await gateway.db
      .selectFrom('generations')
      .select('routing_plan_id')
      .where('session_id', '=', 'alike')
      .execute()
    expect(new Set(rows.map(({ routing_plan_id }) => routing_plan_id)).size).toBe(1)
    expect(rows[0]?.routing_plan_id).not.toBeNull()
  })

  test('R37 a refused request says what would have let it pass, to its own organization', async () => {
    const made = await server().call('POST', '/keys', { body: { name: 'poor', limit: 0.000001 } })
    const limited = await send({ model: 'test/cent' }, made.body.key)
    const id = limited.headers.get('x-generation-id') ?? ''
    const explained = await explain(id)
    expect(explained).toMatchObject({ status: 'refused', error_code: 'key_limit_reached', price: null })
    expect(explained.refusal.details).toMatchObject({ limit: 'key', interval: 'lifetime' })
    expect(explained.refusal.remedies[0]).toStartWith('Raise the limit of the key by at least $0.00')
    expect(explained.routing.candidates[0].outcome).toBe('not_tried')
    const excluded = await send({ model: 'test/chat', provider: { only: ['nobody'] } })
    const other = await explain(excluded.headers.get('x-generation-id') ?? '')
    expect(other.routing.excluded[0].reason).toBe('allowed_providers')
    expect(other.refusal.remedies[0]).toContain('would serve test/chat')
    const { managementKey } = server().foreign
    const foreign = await server().call('GET', `/generation/explanation?id=${id}`, { key: managementKey })
    expect(foreign.status).toBe(404)
  })

  test('is streamed as it grows, with the filters, until the key ends', async () => {
    const made = await server().call('POST', '/keys', { body: { name: 'streamed' } })
    const response = await fetch(`${server().url}/api/v1/generations/stream?session_id=live`, {
      headers: { authorization: `Bearer ${made.body.key}` },
    })
    expect(response.headers.get('content-type')).toStartWith('text/event-stream')
    const { readUntil, reader, received } = follow(response)
    await readUntil(': open')
    await (await send({ model: 'sandbox/echo', session_id: 'other' })).text()
    const body = await readJson(await send({ model: 'sandbox/echo', session_id: 'live' }))
    await (await send({ model: 'test/none', session_id: 'live' })).text()
    await flushRequestLog(server().gateway)
    await readUntil('"refused"')
    const entries = received()
    expect(entries.map(({ session_id }) => session_id)).toEqual(['live', 'live'])
    expect(entries[0]).toMatchObject({ id: body.id, status: 'completed' })
    await server().call('DELETE', `/keys/${made.body.data.hash}`)
    server().clock.advance(20_000)
    await readUntil('"reason":"credential_invalid"')
    expect((await reader.read()).done).toBe(true)
    server().clock.release()
  })

  test('R37 a stream follows the workspaces that its member may see now', async () => {
    const { own, clock, url } = server()
    const made = await server().call('POST', '/workspaces', { body: { name: 'Other', slug: 'live-other' } })
    const other: string = made.body.data.id
    const key = await server().call('POST', '/keys', { body: { name: 'other', workspace_id: other } })
    const { member, headers } = await createSessionCaller(server(), {
      workspaces: { [own.workspace.id]: 'admin', [other]: 'admin' },
    })
    const response = await fetch(`${url}/api/v1/generations/stream?session_id=moved`, { headers })
    const { readUntil, reader, received } = follow(response)
    await readUntil(': open')
    await (await send({ model: 'sandbox/echo', session_id: 'moved' }, key.body.key)).text()
    await readUntil(other)
    const removed = await server().call('POST', `/workspaces/${other}/members/remove`, {
      body: { user_ids: [member.id] },
    })
    expect(removed.status).toBe(200)
    clock.advance(20_000)
    await readUntil(': heartbeat')
    await (await send({ model: 'sandbox/echo', session_id: 'moved' }, key.body.key)).text()
    await (await send({ model: 'sandbox/echo', session_id: 'moved' })).text()
    await readUntil(own.workspace.id)
    expect(received().map(({ workspace }) => workspace.id)).toEqual([other, own.workspace.id])
    await reader.cancel()
    clock.release()
  })
})

/** Reads server-sent events. */
function follow(response: Response) {
  const reader = (response.body as ReadableStream<Uint8Array>).getReader()
  const decoder = new TextDecoder()
  let text = ''
  const readUntil = async (part: string) => {
    while (!text.includes(part)) {
      const { value, done } = await reader.read()
      if (done) throw new Error(`ended: ${text}`)
      text += decoder.decode(value)
    }
  }
  const received = () =>
    text
      .split('\n')
      .filter((line) => line.startsWith('data: '))
      .map((line) => JSON.parse(line.slice('data: '.length)))
  return { reader, readUntil, received }
}
