import { beforeAll, expect, test } from 'bun:test'
import { createSessionCaller, describeOnEachDatabase } from '../../../../test/support/harness.ts'

interface Found {
  kind: string
  id: string
  name: string
}

describeOnEachDatabase('GET /search', (server) => {
  const workspaces: Record<string, string> = {}
  let hash = ''
  beforeAll(async () => {
    for (const name of ['Nightjar', 'Heron']) {
      const body = { name, slug: name.toLowerCase() }
      const { id } = (await server().call('POST', '/workspaces', { body })).body.data
      workspaces[name] = id
      const inside = { workspace_id: id }
      await server().call('POST', '/keys', { body: { name: `Reports of the ${name}`, ...inside } })
      await server().call('POST', '/guardrails', { body: { name: `No ${name} names`, ...inside } })
    }
    const created = await server().call('POST', '/keys', { body: { name: '100%_sure \\ Ünique', limit: 1 } })
    hash = created.body.data.hash
    const member = { email: 'nightjar@example.com', first_name: 'Ada', last_name: 'Lovelace' }
    await server().call('POST', '/organization/members', { body: member })
    await server().call('POST', '/keys', {
      key: server().foreign.managementKey,
      body: { name: 'Nightjar of somebody else' },
    })
  })
  const search = async (
    q: string,
    call: (method: string, path: string) => Promise<{ body: { data: Found[] } }> = server().call,
  ) => (await call('GET', `/search?q=${encodeURIComponent(q)}`)).body.data as Found[]
  const namesOf = (found: Found[]) => found.map(({ kind, name }) => `${kind}: ${name}`)

  test('finds every kind by a part of its name, whatever the case', async () => {
    expect(namesOf(await search('NIGHTJAR'))).toEqual([
      'key: Reports of the Nightjar',
      'workspace: Nightjar',
      'member: Ada Lovelace',
      'guardrail: No Nightjar names',
    ])
    expect(namesOf(await search('lovel'))).toEqual(['member: Ada Lovelace'])
    expect(namesOf(await search('sandbox/ech'))).toContainEqual(expect.stringMatching(/^model: /))
  })

  test('finds a key by the beginning of its hash', async () => {
    expect((await search(hash.slice(0, 8))).map(({ id }) => id)).toEqual([hash])
    expect(await search(hash.slice(1, 12))).toEqual([])
  })

  test.each(['%', '_', '\\', '0%_', 'Ünique'])('%p is a text, not a pattern', async (q) => {
    const found = (await search(q)).filter(({ kind }) => kind === 'key')
    expect(found.map(({ id }) => id)).toEqual([hash])
  })

  test.each(['', 'q='])('400 for an empty text: %p', async (query) => {
    const { status, body } = await server().call('GET', `/search?${query}`)
    expect(status).toBe(400)
    expect(body.error.message).toStartWith('q')
  })

  test('R37 finds nothing of another organization', async () => {
    const call = (method: string, path: string) =>
      server().call(method, path, { key: server().foreign.managementKey })
    expect(namesOf(await search('nightjar', call))).toEqual(['key: Nightjar of somebody else'])
  })

  test('a member finds the own keys, and what the workspaces of the member allow', async () => {
    const member = await createSessionCaller(server(), { workspaces: { [workspaces.Heron ?? '']: 'member' } })
    expect(namesOf(await search('heron', member.call))).toEqual(['workspace: Heron'])
    expect(await search('nightjar', member.call)).toEqual([])
    const body = { name: 'My heron', workspace_id: workspaces.Heron }
    expect((await member.call('POST', '/keys', { body })).status).toBe(201)
    expect(namesOf(await search('heron', member.call))).toEqual(['key: My heron', 'workspace: Heron'])
  })

  test('an admin of a workspace finds what is in it', async () => {
    const admin = await createSessionCaller(server(), { workspaces: { [workspaces.Heron ?? '']: 'admin' } })
    expect(namesOf(await search('reports', admin.call))).toEqual(['key: Reports of the Heron'])
    expect(namesOf(await search('names', admin.call))).toEqual(['guardrail: No Heron names'])
    expect(await search('lovel', admin.call)).toEqual([])
  })

  test('an inference key finds models only', async () => {
    const call = (method: string, path: string) =>
      server().call(method, path, { key: server().own.inferenceKey })
    const kinds = new Set(
      [...(await search('e', call)), ...(await search('nightjar', call))].map(({ kind }) => kind),
    )
    expect([...kinds]).toEqual(['model'])
  })

  test('at most limit of each kind, newest keys first', async () => {
    for (const n of [1, 2, 3]) await server().call('POST', '/keys', { body: { name: `Wren ${n}` } })
    const { data } = (await server().call('GET', '/search?q=wren&limit=2')).body
    expect(namesOf(data)).toEqual(['key: Wren 3', 'key: Wren 2'])
  })

  test('q of the lists', async () => {
    const list = async (path: string) => (await server().call('GET', path)).body.data as Found[]
    for (const n of [1, 2]) await server().call('POST', '/keys', { body: { name: `Quail ${n}` } })
    expect((await list('/keys?q=QUAIL')).map(({ name }) => name)).toEqual(['Quail 2', 'Quail 1'])
    expect((await list('/keys?q=quail&offset=1')).map(({ name }) => name)).toEqual(['Quail 1'])
    expect(await list(`/keys?q=quail&workspace_id=${workspaces.Heron}`)).toEqual([])
    expect((await list('/workspaces?q=heron')).map(({ name }) => name)).toEqual(['Heron'])
    expect(await list('/organization/members?q=LOVELACE')).toHaveLength(1)
    expect(await list(`/guardrails?q=heron&workspace_id=${workspaces.Heron}`)).toHaveLength(1)
    expect(await list(`/guardrails?q=nothing&workspace_id=${workspaces.Heron}`)).toEqual([])
  })
})
