import { describe, expect, test } from 'bun:test'
import { modelOf, textWireFormats, useLab } from './lab.ts'
import {
  chatBody,
  events,
  json,
  messagesBody,
  responsesBody,
  type SendOptions,
  send as sendTo,
} from './raw-http.ts'

// Requests that no library here sends, as programs were seen to send them.
const lab = useLab()

const send = (path: string, options?: SendOptions) => sendTo(lab(), path, options)

describe('headers', () => {
  test('those of Open WebUI name the user and the session', async () => {
    const headers = {
      'X-OpenWebUI-User-Name': 'Ada',
      'X-OpenWebUI-User-Id': 'user-7',
      'X-OpenWebUI-User-Email': 'ada@example.com',
      'X-OpenWebUI-User-Role': 'admin',
      'X-OpenWebUI-Chat-Id': 'chat-9',
    }
    const response = await json(send('/v1/chat/completions', { body: chatBody, headers }))
    const { db } = lab().server.gateway
    const record = await db
      .selectFrom('generations')
      .select(['session_id', 'external_user'])
      .where('id', '=', response.id)
      .executeTakeFirst()
    expect(record).toEqual({ session_id: 'chat-9', external_user: 'user-7' })
    // Personal data is not passed on.
    expect(JSON.stringify(lab().lastRequest().headers)).not.toContain('ada@example.com')
  })

  test('a browser may call inference routes from anywhere', async () => {
    const headers = { origin: 'https://app.example.com' }
    const request = await send('/v1/chat/completions', {
      method: 'OPTIONS',
      key: null,
      headers: {
        ...headers,
        'access-control-request-method': 'POST',
        'access-control-request-headers': 'authorization,content-type,x-stainless-os',
      },
    })
    expect(request.status).toBe(204)
    expect(request.headers.get('access-control-allow-origin')).toBe('https://app.example.com')
    expect(request.headers.get('access-control-allow-headers')).toContain('x-stainless-os')
    for (const [path, body] of [
      ['/v1/chat/completions', { ...chatBody, stream: true }],
      ['/v1/messages', messagesBody],
      ['/v1/responses', responsesBody],
    ] as const) {
      const response = await send(path, { body, headers })
      expect(response.headers.get('access-control-allow-origin')).toBe('https://app.example.com')
      await response.text()
    }
    const rejected = await send('/v1/chat/completions', { body: chatBody, headers, key: 'wrong' })
    expect(rejected.headers.get('access-control-allow-origin')).toBe('https://app.example.com')
  })

  test('but not management routes', async () => {
    const headers = { origin: 'https://app.example.com' }
    const response = await send('/api/v1/keys', { headers, key: lab().managementKey })
    expect(response.headers.get('access-control-allow-origin')).toBeNull()
  })

  test('every response has its request id and its generation', async () => {
    const response = await send('/v1/chat/completions', { body: chatBody })
    expect(response.headers.get('x-request-id')).toBeString()
    expect(response.headers.get('x-generation-id')).toStartWith('gen-')
    const rejected = await send('/v1/chat/completions', { body: { ...chatBody, model: 'lab/none' } })
    expect(rejected.headers.get('x-request-id')).toBeString()
  })
})

describe('streams on the wire', () => {
  test('only the chat format ends with [DONE]', async () => {
    const last = async (path: string, body: object) =>
      (await events(await send(path, { body: { ...body, stream: true } }))).at(-1)
    expect(await last('/v1/chat/completions', chatBody)).toBe('[DONE]')
    expect(JSON.parse((await last('/v1/messages', messagesBody)) ?? '')).toEqual({ type: 'message_stop' })
    expect(JSON.parse((await last('/v1/responses', responsesBody)) ?? '').type).toBe('response.completed')
  })

  test.each([
    ['/v1/chat/completions', chatBody, /^: /m],
    ['/v1/responses', responsesBody, /^: /m],
    ['/v1/messages', messagesBody, /^event: ping\ndata: /m],
  ])('%s sends heartbeats before and within a slow reply', async (path, body, heartbeat) => {
    const wireFormat = textWireFormats.find((name) => body.model === modelOf(name)) ?? 'chat'
    lab().replySlowly(wireFormat)
    const response = await send(path, { body: { ...body, stream: true } })
    const text = await response.text()
    expect(text).toMatch(heartbeat)
    expect(text.search(heartbeat)).toBe(0)
    expect(text.split(heartbeat).length).toBeGreaterThan(2)
  })

  test('a client that disconnects before the first byte frees the upstream', async () => {
    lab().next.push({ hang: true })
    const controller = new AbortController()
    const before = lab().upstream.requests.length
    const request = send('/v1/chat/completions', { body: chatBody, signal: controller.signal })
    const journal = await lab().upstream.waitForRequests(before + 1)
    const leftAt = Date.now()
    controller.abort()
    await request.catch(() => undefined)
    const { closedByPeerAt } = await journal[before]!.done
    expect((closedByPeerAt ?? Number.POSITIVE_INFINITY) - leftAt).toBeLessThanOrEqual(250)
  })

  test('nothing is buffered: the first text arrives while the upstream is silent', async () => {
    lab().stall('chat')
    const controller = new AbortController()
    const response = await send('/v1/chat/completions', {
      body: { ...chatBody, stream: true },
      signal: controller.signal,
    })
    const { value } = await response.body!.getReader().read()
    expect(new TextDecoder().decode(value)).toContain('"content":"')
    controller.abort()
  })
})
