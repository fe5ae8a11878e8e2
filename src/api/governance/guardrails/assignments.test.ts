import { describe, expect, test } from 'bun:test'
import { describeOnEachDatabase } from '../../../../test/support/harness.ts'
import { sha256 } from '../../../platform/crypto/crypto.ts'
import { newUuid } from '../../../platform/crypto/ids.ts'

describeOnEachDatabase('Guardrail assignments', (server) => {
  let made = 0
  const post = (path: string, body: unknown) => server().call('POST', path, { body })
  const newGuardrail = async (workspace_id?: string): Promise<string> =>
    (await post('/guardrails', { name: `assigned ${++made}`, workspace_id })).body.data.id
  const newKey = async (workspace_id?: string): Promise<string> =>
    (await post('/keys', { name: `key ${++made}`, workspace_id })).body.data.hash
  const newMember = async (): Promise<string> =>
    (await post('/organization/members', { email: `assigned${++made}@example.com` })).body.data.id
  const newWorkspace = async (): Promise<string> =>
    (await post('/workspaces', { name: 'w', slug: `assigned-${++made}` })).body.data.id

  const assignKeys = (id: string, key_hashes: string[]) =>
    post(`/guardrails/${id}/assignments/keys`, { key_hashes })
  const assignMembers = (id: string, member_user_ids: string[]) =>
    post(`/guardrails/${id}/assignments/members`, { member_user_ids })
  const keysOf = async (id: string): Promise<string[]> => {
    const { body } = await server().call('GET', `/guardrails/${id}/assignments/keys`)
    expect(body.total_count).toBe(body.data.length)
    return body.data.map((row: { key_hash: string }) => row.key_hash).sort()
  }
  const membersOf = async (id: string): Promise<string[]> => {
    const { body } = await server().call('GET', `/guardrails/${id}/assignments/members`)
    return body.data.map((row: { user_id: string }) => row.user_id).sort()
  }

  describe('keys', () => {
    test('an assignment names the key, the guardrail and who made it', async () => {
      const [id, hash] = [await newGuardrail(), await newKey()]
      expect((await assignKeys(id, [hash, hash])).body).toEqual({ assigned_count: 1 })
      const { body } = await server().call('GET', `/guardrails/${id}/assignments/keys`)
      const key = (await server().call('GET', `/keys/${hash}`)).body.data
      expect(body.data).toEqual([
        {
          id: expect.any(String),
          key_hash: hash,
          key_name: key.name,
          key_label: key.label,
          guardrail_id: id,
          assigned_by: server().own.owner.id,
          created_at: expect.any(String),
        },
      ])
    })

    test('a key has one guardrail: a new one replaces it, the same one changes nothing', async () => {
      const [first, second] = [await newGuardrail(), await newGuardrail()]
      const [a, b] = [await newKey(), await newKey()]
      await assignKeys(first, [a, b])
      const before = await server().call('GET', `/guardrails/${first}/assignments/keys`)
      expect((await assignKeys(first, [a, b])).body).toEqual({ assigned_count: 2 })
      const after = await server().call('GET', `/guardrails/${first}/assignments/keys`)
      expect(after.body).toEqual(before.body)
      await assignKeys(second, [b])
      expect(await keysOf(first)).toEqual([a])
      expect(await keysOf(second)).toEqual([b])
    })

    test('R37 404 naming a hash that is unknown, foreign or a management key; nothing is assigned', async () => {
      const [id, hash] = [await newGuardrail(), await newKey()]
      const { foreign, own } = server()
      for (const bad of ['0'.repeat(64), sha256(foreign.inferenceKey), sha256(own.managementKey)]) {
        const response = await assignKeys(id, [hash, bad])
        expect(response.status).toBe(404)
        expect(response.body.error.message).toContain(bad)
        expect(response.body.error.message).not.toContain(hash)
      }
      expect(await keysOf(id)).toEqual([])
    })

    test('400 naming a key of another workspace; nothing is assigned', async () => {
      const id = await newGuardrail()
      const [here, elsewhere] = [await newKey(), await newKey(await newWorkspace())]
      const response = await assignKeys(id, [here, elsewhere])
      expect(response.status).toBe(400)
      expect(response.body.error.message).toStartWith('key_hashes')
      expect(response.body.error.message).toContain(elsewhere)
      expect(await keysOf(id)).toEqual([])
    })

    test('a deleted key loses its assignment', async () => {
      const [id, hash] = [await newGuardrail(), await newKey()]
      await assignKeys(id, [hash])
      await server().call('DELETE', `/keys/${hash}`)
      expect(await keysOf(id)).toEqual([])
    })

    test('R22 two guardrails that take the same keys at the same moment: each key ends with one', async () => {
      const [first, second] = [await newGuardrail(), await newGuardrail()]
      const hashes = await Promise.all(Array.from({ length: 10 }, () => newKey()))
      const responses = await Promise.all(
        Array.from({ length: 10 }, (_, i) =>
          assignKeys(i % 2 ? first : second, i % 3 ? hashes : hashes.toReversed()),
        ),
      )
      expect(responses.map((response) => response.status)).toEqual(Array(10).fill(200))
      expect([...(await keysOf(first)), ...(await keysOf(second))].sort()).toEqual(hashes.sort())
    })

    test('R22 assigning keys that are deleted at the same moment is 200 or 404, never 500', async () => {
      for (let round = 0; round < 5; round++) {
        const [id, hash] = [await newGuardrail(), await newKey()]
        const [response] = await Promise.all([
          assignKeys(id, [hash]),
          server().call('DELETE', `/keys/${hash}`),
        ])
        expect([200, 404]).toContain(response.status)
        expect(await keysOf(id)).toEqual([])
      }
    })
  })

  describe('E10 POST /guardrails/{id}/assignments/keys/remove', () => {
    const remove = (id: string, body: unknown) => post(`/guardrails/${id}/assignments/keys/remove`, body)

    test('E10 counts those that had this guardrail; others are passed over', async () => {
      const [id, other] = [await newGuardrail(), await newGuardrail()]
      const [a, b, c] = [await newKey(), await newKey(), await newKey()]
      await assignKeys(id, [a, b])
      await assignKeys(other, [c])
      const key_hashes = [a, a, c, 'unknown', sha256(server().foreign.inferenceKey)]
      expect((await remove(id, { key_hashes })).body).toEqual({ unassigned_count: 1 })
      expect((await remove(id, { key_hashes })).body).toEqual({ unassigned_count: 0 })
      expect(await keysOf(id)).toEqual([b])
      expect(await keysOf(other)).toEqual([c])
    })

    test.each([
      ['missing', {}],
      ['empty', { key_hashes: [] }],
      ['null', { key_hashes: null }],
      ['an empty hash', { key_hashes: ['a', ''] }],
      ['not text', { key_hashes: [1] }],
      ['not a list', { key_hashes: 'abc' }],
      ['1001 hashes', { key_hashes: Array(1001).fill('a') }],
    ])('E10 400 naming the field: %s', async (_, body) => {
      const id = await newGuardrail()
      for (const path of ['keys/remove', 'keys']) {
        const response = await post(`/guardrails/${id}/assignments/${path}`, body)
        expect(response.status).toBe(400)
        expect(response.body.error.message).toStartWith('key_hashes')
      }
    })

    test('E10 404 for an unknown guardrail, 400 for an id that is no UUID', async () => {
      expect((await remove(newUuid(), { key_hashes: ['a'] })).status).toBe(404)
      expect((await remove('mine', { key_hashes: ['a'] })).status).toBe(400)
    })
  })

  describe('E9 members', () => {
    test('E9 an assignment has every field of its type', async () => {
      const [id, user] = [await newGuardrail(), await newMember()]
      expect((await assignMembers(id, [user, user])).body).toEqual({ assigned_count: 1 })
      const { body } = await server().call('GET', `/guardrails/${id}/assignments/members`)
      expect(body).toEqual({
        data: [
          {
            id: expect.any(String),
            user_id: user,
            organization_id: server().own.organization.id,
            guardrail_id: id,
            assigned_by: server().own.owner.id,
            created_at: expect.any(String),
          },
        ],
        total_count: 1,
      })
    })

    test('E9 pages: offset defaults to 0 and limit to 50, null is absent', async () => {
      const id = await newGuardrail()
      const users: string[] = []
      for (let i = 0; i < 3; i++) {
        users.push(await newMember())
        await assignMembers(id, users.slice(-1))
        server().clock.advance(1000)
      }
      const page = async (query: string) => {
        const { body } = await server().call('GET', `/guardrails/${id}/assignments/members?${query}`)
        return [body.data.map((row: { user_id: string }) => row.user_id), body.total_count]
      }
      expect(await page('')).toEqual([users, 3])
      expect(await page('offset=null&limit=100')).toEqual([users, 3])
      expect(await page('offset=1&limit=1')).toEqual([[users[1]], 3])
      expect(await page('offset=3')).toEqual([[], 3])
    })

    test.each(['offset=-1', 'offset=x', 'limit=0', 'limit=101', 'limit=1.5'])(
      'E9 400 for %s',
      async (query) => {
        const id = await newGuardrail()
        const response = await server().call('GET', `/guardrails/${id}/assignments/members?${query}`)
        expect(response.status).toBe(400)
        expect(response.body.error.message).toStartWith(query.split('=')[0] ?? '')
      },
    )

    test('E9 404 for an unknown guardrail', async () => {
      const response = await server().call('GET', `/guardrails/${newUuid()}/assignments/members`)
      expect(response.status).toBe(404)
    })

    test('a member has one guardrail in each workspace', async () => {
      const user = await newMember()
      const [first, second] = [await newGuardrail(), await newGuardrail()]
      const elsewhere = await newGuardrail(await newWorkspace())
      for (const id of [first, elsewhere, second]) await assignMembers(id, [user])
      expect(await membersOf(first)).toEqual([])
      expect(await membersOf(second)).toEqual([user])
      expect(await membersOf(elsewhere)).toEqual([user])
    })

    test('R37 404 naming an unknown or foreign user; no member is assigned', async () => {
      const [id, user] = [await newGuardrail(), await newMember()]
      for (const bad of ['user_nobody', server().foreign.owner.id]) {
        const response = await assignMembers(id, [user, bad])
        expect(response.status).toBe(404)
        expect(response.body.error.message).toContain(bad)
      }
      expect(await membersOf(id)).toEqual([])
    })

    test('remove counts those that had this guardrail and ignores others', async () => {
      const id = await newGuardrail()
      const [a, b] = [await newMember(), await newMember()]
      await assignMembers(id, [a, b])
      const path = `/guardrails/${id}/assignments/members/remove`
      const { body } = await post(path, { member_user_ids: [a, a, 'user_nobody'] })
      expect(body).toEqual({ unassigned_count: 1 })
      expect(await membersOf(id)).toEqual([b])
      expect((await post(path, { member_user_ids: [] })).status).toBe(400)
      expect((await post(path, { user_ids: [b] })).status).toBe(400)
    })

    test('R22 assigning members who are removed at the same moment is 200 or 404, never 500', async () => {
      for (let round = 0; round < 5; round++) {
        const [id, user] = [await newGuardrail(), await newMember()]
        const [response] = await Promise.all([
          assignMembers(id, [user]),
          server().call('DELETE', `/organization/members/${user}`),
        ])
        expect([200, 404]).toContain(response.status)
        expect(await membersOf(id)).toEqual([])
      }
    })
  })

  describe('the lists of the organization', () => {
    test('have every assignment of the organization, and no others', async () => {
      const [id, hash, user] = [await newGuardrail(), await newKey(), await newMember()]
      await assignKeys(id, [hash])
      await assignMembers(id, [user])
      const read = async (path: string, key?: string) => {
        const options = key === undefined ? {} : { key }
        const { body } = await server().call('GET', `/guardrails/assignments/${path}?limit=100`, options)
        expect(body.total_count).toBe(body.data.length)
        return body.data.filter((row: { guardrail_id: string }) => row.guardrail_id === id).length
      }
      expect([await read('keys'), await read('members')]).toEqual([1, 1])
      const { managementKey } = server().foreign
      expect([await read('keys', managementKey), await read('members', managementKey)]).toEqual([0, 0])
      const page = await server().call('GET', '/guardrails/assignments/keys?limit=1')
      expect(page.body.data).toHaveLength(1)
      expect(page.body.total_count).toBeGreaterThan(1)
    })

    test('deleting a guardrail deletes its assignments', async () => {
      const [id, hash, user] = [await newGuardrail(), await newKey(), await newMember()]
      await assignKeys(id, [hash])
      await assignMembers(id, [user])
      await server().call('DELETE', `/guardrails/${id}`)
      for (const path of ['keys', 'members']) {
        const { body } = await server().call('GET', `/guardrails/assignments/${path}?limit=100`)
        expect(JSON.stringify(body)).not.toContain(id)
      }
    })
  })
})
