import { beforeEach, expect, test } from 'bun:test'
import { sha256 } from '../../src/platform/crypto/crypto.ts'
import {
  clearGenerations,
  describeWithUpstreams,
  lastRequest,
  readJson,
  sendRequest,
  waitForGenerations,
} from './two-upstreams.ts'

describeWithUpstreams('a request with tags', (bench) => {
  beforeEach(() => clearGenerations(bench()))
  const headers = {
    'x-headgate-tags': 'project=apollo',
    'x-headgate-user': 'u-1',
    'x-portkey-metadata': '{"env": "prod"}',
    'helicone-property-app': 'mobile',
    'cf-aig-metadata': '{"team": "AI"}',
  }

  test('keeps the headers of tags to itself', async () => {
    const reply = await sendRequest(bench(), 'chat', { model: 'test/chat' }, { headers })
    expect(reply.status).toBe(200)
    expect(reply.headers.get('x-headgate-dropped')).toBeNull()
    const sent = lastRequest(bench().first.requests)
    for (const name of Object.keys(headers)) expect(sent.headers).not.toHaveProperty([name])
  })

  test.each(['chat', 'responses'] as const)(
    '%s: sends metadata on, without the list of tags',
    async (format) => {
      const send = (model: string, metadata: Record<string, unknown>) =>
        sendRequest(bench(), format, { model, metadata })
      const metadata = { ticket: 'T-1', tags: ['prod'] }
      for (const model of ['test/chat', 'test/responses']) {
        expect((await send(model, metadata)).status).toBe(200)
        expect(lastRequest(bench().first.requests).json.metadata).toEqual({ ticket: 'T-1' })
        expect((await send(model, { tags: ['prod'] })).status).toBe(200)
        expect(lastRequest(bench().first.requests).json).not.toHaveProperty('metadata')
      }
    },
  )

  test('messages: sends the user of metadata only, since the vendor rejects other names', async () => {
    const metadata = { user_id: 'u-1', project: 'apollo', long: 'v'.repeat(200) }
    for (const model of ['test/messages', 'test/chat']) {
      const reply = await sendRequest(bench(), 'messages', { model, metadata })
      expect(reply.headers.get('x-headgate-dropped')).toBe('tag:long')
      expect(JSON.stringify(lastRequest(bench().first.requests).json)).not.toContain('apollo')
    }
  })

  test('is not rejected for what is not a tag, also if it is strict', async () => {
    const strict = { headers: { 'x-headgate-strict': 'true' } }
    const metadata = { note: 'v'.repeat(512) }
    const reply = await sendRequest(bench(), 'chat', { model: 'test/chat', metadata }, strict)
    expect([reply.status, reply.headers.get('x-headgate-dropped')]).toEqual([200, 'tag:note'])
  })

  test('is rejected for a wrong tag in our own header', async () => {
    const wrong = { headers: { 'x-headgate-tags': 'project=' } }
    const reply = await sendRequest(bench(), 'chat', { model: 'test/chat' }, wrong)
    expect(reply.status).toBe(400)
    const { error } = await readJson(reply)
    expect(error.param).toBe('x-headgate-tags')
  })

  test('may have lists only as tags', async () => {
    const reply = await sendRequest(bench(), 'chat', { model: 'test/chat', metadata: { other: ['x'] } })
    expect(reply.status).toBe(400)
    expect((await readJson(reply)).error.param).toBe('metadata')
  })

  test('has them in its record and in the request log', async () => {
    const reply = await sendRequest(bench(), 'chat', { model: 'test/chat' }, { headers })
    const id = reply.headers.get('x-generation-id')
    await sendRequest(bench(), 'chat', { model: 'test/chat' })
    await sendRequest(bench(), 'chat', { model: 'test/nothing' }, { headers })
    await bench().server.gateway.requestLog.rejected.flush(true)
    const tags = ['app=mobile', 'env=prod', 'project=apollo', 'team=AI']
    const { call } = bench().server
    const { body } = await call('GET', `/generation?id=${id}`)
    expect(body.data).toMatchObject({ tags, external_user: 'u-1' })
    const list = async (filter: string) =>
      (await call('GET', `/generations?${filter}`)).body.data as { tags: string[] }[]
    expect((await list('tag=project=apollo')).map((row) => row.tags)).toEqual([tags, tags])
    expect(await list('tag=project=apollo,env=prod&status=completed')).toHaveLength(1)
    expect(await list('tag=project=apoll')).toEqual([])
    expect(await list('external_user=u-1')).toHaveLength(2)
  })

  test('has the same tags in requests on its behalf, and in the generation of a cached reply', async () => {
    const cached = { ...headers, 'x-service-cache': 'true' }
    for (let at = 0; at < 2; at++)
      await sendRequest(bench(), 'chat', { model: 'test/chat', temperature: 0 }, { headers: cached })
    const rows = await waitForGenerations(bench(), 2)
    expect(new Set(rows.map((row) => row.tags)).size).toBe(1)
    expect(rows.at(-1)?.response_cache_source_id).not.toBeNull()
  })

  test('follows the rules of its key and workspace at once', async () => {
    const { server } = bench()
    const { own, call } = server
    const key = `/keys/${sha256(own.inferenceKey)}`
    const change = async (path: string, tags: unknown) => {
      const { status, body } = await call('PATCH', path, { body: { tags } })
      return [status, status === 200 ? body.data.tags : body.error.param]
    }
    const send = async (init = {}) => {
      const reply = await sendRequest(bench(), 'chat', { model: 'test/chat' }, init)
      return [reply.status, reply.status === 200 ? '' : (await readJson(reply)).error.message]
    }
    const set = { team: 'search' }
    expect(await change(`/workspaces/${own.workspace.id}`, { required: ['project'], set })).toEqual([
      200,
      { required: ['project'], forbidden: [], set },
    ])
    expect((await change(key, { forbidden: ['internal'] }))[0]).toBe(200)
    expect(await send()).toEqual([400, expect.stringContaining('requires the tag "project"')])
    const forbidden = { headers: { 'x-headgate-tags': 'project=a,internal' } }
    expect(await send(forbidden)).toEqual([400, expect.stringContaining('forbids the tag "internal"')])
    expect(await send({ headers: { 'x-headgate-tags': 'project=a,team=other' } })).toEqual([200, ''])
    expect((await waitForGenerations(bench(), 1)).map(({ tags }) => tags)).toEqual(['project=a\nteam=search'])
    expect(await change(key, { required: ['No name'] })).toEqual([400, 'tags.required.0'])
    expect(await change(key, { forbidden: ['a'], set: { a: '1' } })).toEqual([400, 'tags.forbidden'])
    expect(await change(key, null)).toEqual([200, null])
    expect(await change(`/workspaces/${own.workspace.id}`, null)).toEqual([200, null])
    expect(await send()).toEqual([200, ''])
  })
})
