import { afterEach, expect, test } from 'bun:test'
import {
  createSessionCaller,
  describeOnEachDatabase,
  type SessionCaller,
} from '../../../../test/support/harness.ts'

type Body = Record<string, unknown>
type Call = SessionCaller['call']

const draft = { screen: 'requests', name: 'Failures', search: { status: 'failed', period: '7d' } }

describeOnEachDatabase(
  'saved views',
  (server) => {
    afterEach(async () => {
      await server().gateway.db.deleteFrom('saved_views').execute()
    })
    const byKey: Call = (method, path, options) => server().call(method, path, options ?? {})
    const save = async (call: Call, body: Body = {}) => {
      const { status, body: reply } = await call('POST', '/saved-views', { body: { ...draft, ...body } })
      expect({ status, reply }).toMatchObject({ status: 201 })
      return reply.data
    }
    const namesFor = async (call: Call, query = '') =>
      (await call('GET', `/saved-views${query}`)).body.data.map(({ name }: Body) => name)
    const createWorkspace = async () => {
      const slug = `w-${crypto.randomUUID().slice(0, 8)}`
      return (await byKey('POST', '/workspaces', { body: { name: slug, slug } })).body.data.id as string
    }
    const auditOf = async (id: string) =>
      (await byKey('GET', `/audit?target_id=${id}`)).body.data.map(({ action }: Body) => action)

    test('a private view is seen and changed by its creator only, and is not in the audit log', async () => {
      const ada = await createSessionCaller(server(), {})
      const grace = await createSessionCaller(server(), { role: 'org:admin' })
      const view = await save(ada.call)
      expect(view).toMatchObject({ ...draft, visibility: 'private', workspace_id: null, is_own: true })
      expect(await namesFor(ada.call)).toEqual(['Failures'])
      for (const other of [grace.call, byKey]) {
        expect(await namesFor(other)).toEqual([])
        expect((await other('PATCH', `/saved-views/${view.id}`, { body: { name: 'Mine' } })).status).toBe(404)
        expect((await other('DELETE', `/saved-views/${view.id}`)).status).toBe(404)
      }
      const changed = await ada.call('PATCH', `/saved-views/${view.id}`, {
        body: { search: { period: '1h' } },
      })
      expect(changed.body.data).toMatchObject({ name: 'Failures', search: { period: '1h' } })
      expect((await ada.call('DELETE', `/saved-views/${view.id}`)).status).toBe(200)
      expect(await auditOf(view.id)).toEqual([])
    })

    test('lists views by name and by screen', async () => {
      for (const name of ['b', 'a', 'c']) await save(byKey, { name })
      await save(byKey, { name: 'd', screen: 'keys' })
      expect(await namesFor(byKey)).toEqual(['a', 'b', 'c', 'd'])
      expect(await namesFor(byKey, '?screen=keys')).toEqual(['d'])
      expect(await namesFor(byKey, '?limit=1&offset=1')).toEqual(['b'])
      expect((await byKey('GET', '/saved-views?limit=1')).body.total_count).toBe(4)
    })

    test('a view that is shared with a workspace is seen and changed there', async () => {
      const [here, elsewhere] = [await createWorkspace(), await createWorkspace()]
      const ada = await createSessionCaller(server(), { workspaces: { [here]: 'member' } })
      const grace = await createSessionCaller(server(), { workspaces: { [here]: 'member' } })
      const outsider = await createSessionCaller(server(), { workspaces: { [elsewhere]: 'member' } })
      const view = await save(ada.call, { visibility: 'workspace', workspace_id: here })
      expect(view).toMatchObject({ visibility: 'workspace', workspace_id: here })
      expect(view.created_by).toBe(ada.member.id)
      expect(await namesFor(grace.call)).toEqual(['Failures'])
      expect(await namesFor(byKey)).toEqual(['Failures'])
      expect(await namesFor(outsider.call)).toEqual([])
      expect((await outsider.call('DELETE', `/saved-views/${view.id}`)).status).toBe(404)
      const path = `/saved-views/${view.id}`
      expect((await grace.call('PATCH', path, { body: { name: 'Errors' } })).status).toBe(200)
      const taken = await grace.call('PATCH', path, { body: { visibility: 'private' } })
      expect({ status: taken.status, message: taken.body.error.message }).toEqual({
        status: 400,
        message: 'visibility: can be made private only by its creator',
      })
      const moved = { body: { visibility: 'workspace', workspace_id: elsewhere } }
      expect((await grace.call('PATCH', path, moved)).status).toBe(403)
      expect((await ada.call('PATCH', path, { body: { visibility: 'private' } })).status).toBe(200)
      expect(await namesFor(grace.call)).toEqual([])
      expect(await auditOf(view.id)).toEqual(['saved_view.update', 'saved_view.update', 'saved_view.create'])
    })

    test('sharing with the organization needs the permission there', async () => {
      const here = await createWorkspace()
      const member = await createSessionCaller(server(), { workspaces: { [here]: 'member' } })
      const refused = await member.call('POST', '/saved-views', {
        body: { ...draft, visibility: 'organization' },
      })
      expect(refused.status).toBe(403)
      expect(refused.body.error.metadata.permission).toBe('shared_views:write')
      const view = await save(byKey, { visibility: 'organization' })
      expect(await namesFor(member.call)).toEqual(['Failures'])
      expect((await member.call('DELETE', `/saved-views/${view.id}`)).status).toBe(403)
      const foreign: Call = (method, path) =>
        server().call(method, path, { key: server().foreign.managementKey })
      expect(await namesFor(foreign)).toEqual([])
      expect((await foreign('DELETE', `/saved-views/${view.id}`)).status).toBe(404)
    })

    test.each<[string, Body]>([
      ['screen', { screen: 'kitchen' }],
      ['name', { name: '' }],
      ['search', { search: { 'not a name': 'x' } }],
      ['search', { search: { text: 'x'.repeat(2001) } }],
      ['search', { search: { a: 'x'.repeat(2000), b: 'x'.repeat(2000) } }],
      ['search', { search: Object.fromEntries(Array.from({ length: 41 }, (_, n) => [`p${n}`, '1'])) }],
      ['workspace_id', { visibility: 'workspace' }],
      ['workspace_id', { workspace_id: crypto.randomUUID() }],
    ])('400 names %p', async (field, body) => {
      const { status, body: reply } = await byKey('POST', '/saved-views', { body: { ...draft, ...body } })
      expect(status).toBe(400)
      expect(reply.error.message).toStartWith(field)
    })

    test('private views are deleted with the member or the key, shared ones with the workspace', async () => {
      const here = await createWorkspace()
      const member = await createSessionCaller(server(), { workspaces: { [here]: 'member' } })
      await save(member.call)
      await save(member.call, { name: 'Shared', visibility: 'workspace', workspace_id: here })
      const created = (await byKey('POST', '/management-keys', { body: { name: 'viewer' } })).body
      const withKey: Call = (method, path, options) =>
        server().call(method, path, { ...options, key: created.key })
      await save(withKey, { name: 'Of a key' })
      expect((await byKey('DELETE', `/organization/members/${member.member.id}`)).status).toBe(200)
      expect((await byKey('DELETE', `/management-keys/${created.data.hash}`)).status).toBe(200)
      const left = () => server().gateway.db.selectFrom('saved_views').select('name').execute()
      expect(await left()).toEqual([{ name: 'Shared' }])
      expect((await byKey('DELETE', `/workspaces/${here}`)).status).toBe(200)
      expect(await left()).toEqual([])
    })

    test('a member has at most 4 views, and the organization 2 that are shared', async () => {
      for (const name of ['a', 'b', 'c', 'd']) await save(byKey, { name })
      const beyond = await byKey('POST', '/saved-views', { body: draft })
      expect(beyond.status).toBe(409)
      expect(beyond.body.error.metadata).toMatchObject({ ceiling: 'saved_views', most: 4 })
      const shared = { visibility: 'organization' }
      const views = (await byKey('GET', '/saved-views')).body.data
      const statuses = []
      for (const { id } of views)
        statuses.push((await byKey('PATCH', `/saved-views/${id}`, { body: shared })).status)
      expect(statuses).toEqual([200, 200, 409, 409])
    })
  },
  { settings: 'ceilings: { saved_views: 4, shared_views: 2 }' },
)
