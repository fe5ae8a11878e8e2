import { beforeAll, expect, test } from 'bun:test'
import {
  createSessionCaller,
  describeOnEachDatabase,
  type SessionCaller,
} from '../../../../test/support/harness.ts'

const body = { model: 'sandbox/echo', messages: [{ role: 'user', content: 'Hello' }] }

describeOnEachDatabase('presets of members who are limited to workspaces', (server) => {
  let [mine, other] = ['', '']
  let developer: SessionCaller
  let reader: SessionCaller

  const createWorkspace = async (slug: string): Promise<string> =>
    (await server().call('POST', '/workspaces', { body: { name: slug, slug } })).body.data.id

  beforeAll(async () => {
    ;[mine, other] = [await createWorkspace('mine'), await createWorkspace('other')]
    const roles = [{ roleId: 'developer', workspaceId: mine }]
    developer = await createSessionCaller(server(), { workspaces: { [mine]: 'member' }, roles })
    reader = await createSessionCaller(server(), { workspaces: { [other]: 'member' } })
  })

  test('a developer of a workspace creates and changes its presets', async () => {
    const created = await developer.call('POST', '/presets/of-mine/chat/completions', { body })
    expect(created.body.data).toMatchObject({ workspace_id: mine, creator_user_id: developer.member.id })
    expect((await developer.call('POST', '/presets/of-mine/messages', { body })).status).toBe(200)
    const change = { body: { status: 'disabled' } }
    expect((await developer.call('PATCH', '/presets/of-mine', change)).status).toBe(200)
    expect((await developer.call('DELETE', '/presets/of-mine')).status).toBe(200)
  })

  test('S2 and none of other workspaces', async () => {
    await server().call('POST', '/presets/shared/chat/completions', { body })
    await developer.call('POST', '/presets/hidden/chat/completions', { body })
    const { key: limited } = (
      await server().call('POST', '/management-keys', { body: { name: 'limited', workspace_ids: [other] } })
    ).body
    const key = { call: (m: string, p: string, o = {}) => server().call(m, p, { key: limited, ...o }) }
    for (const [caller, slug] of [
      [reader, 'hidden'],
      [key, 'hidden'],
      [developer, 'shared'],
    ] as const) {
      for (const path of ['', '/versions', '/versions/1']) {
        const refused = await caller.call('GET', `/presets/${slug}${path}`)
        expect([path, refused.status]).toEqual([path, 403])
        expect(refused.body.error.message).toContain('presets:read')
      }
      const listed = (await caller.call('GET', '/presets')).body
      expect(listed.data.some((preset: { slug: string }) => preset.slug === slug)).toBe(false)
    }
    expect((await reader.call('GET', '/presets')).body).toEqual({ data: [], total_count: 0 })
    const found = (await reader.call('GET', '/search?q=hidden')).body.data
    expect(found).toEqual([])
    for (const caller of [developer, reader]) {
      for (const [method, path, sent] of [
        ['POST', '/presets/shared/chat/completions', body],
        ['PATCH', '/presets/shared', { name: 'x' }],
        ['DELETE', '/presets/shared', undefined],
      ] as const) {
        const refused = await caller.call(method, path, { body: sent })
        expect(refused.status).toBe(403)
        expect(refused.body.error.message).toContain('presets:write')
      }
    }
    const { data } = (await server().call('GET', '/presets/shared')).body
    expect(data).toMatchObject({ name: 'shared', designated_version: { version: 1 } })
  })

  test('a preset of the default workspace is used everywhere, others in their own', async () => {
    const keyOf = async (workspace_id: string) =>
      (await server().call('POST', '/keys', { body: { name: 'k', workspace_id } })).body.key as string
    const send = async (key: string, slug: string) =>
      server().call('POST', '/chat/completions', { key, body: { ...body, model: `@preset/${slug}` } })
    const [inside, outside] = [await keyOf(mine), await keyOf(other)]
    expect((await send(inside, 'hidden')).status).toBe(200)
    const refused = await send(outside, 'hidden')
    const unknown = await send(outside, 'unknown')
    expect([refused.status, refused.body.error.message.replace('hidden', 'unknown')]).toEqual([
      unknown.status,
      unknown.body.error.message,
    ])
    expect((await send(outside, 'shared')).status).toBe(200)
  })

  test('a preset is created in the workspace that the session names', async () => {
    const headers = { 'x-headgate-workspace': other }
    const refused = await developer.call('POST', '/presets/elsewhere/chat/completions', { body, headers })
    expect(refused.status).toBe(403)
    expect((await server().call('GET', '/presets/elsewhere')).status).toBe(404)
  })
})
