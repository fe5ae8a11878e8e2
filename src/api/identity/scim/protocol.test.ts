import { beforeAll, describe, expect, test } from 'bun:test'
import { describeOnEachDatabase, startTestServer } from '../../../../test/support/harness.ts'
import {
  buildPatchBody,
  buildUserBody,
  connectIdentityProvider,
  type IdentityProvider,
  sendScim,
} from '../../../../test/support/scim.ts'
import { sha256 } from '../../../platform/crypto/crypto.ts'
import { newId, newUuid } from '../../../platform/crypto/ids.ts'

describeOnEachDatabase('SCIM protocol', (server) => {
  let provider: IdentityProvider
  beforeAll(async () => {
    provider = await connectIdentityProvider(server())
  })

  describe('tokens', () => {
    test('a token is shown once, stored as its hash, listed by its label and revoked at once', async () => {
      const made = await server().call('POST', '/scim/tokens', { body: { name: ' Okta ' } })
      const { token, data } = made.body
      expect(token).toMatch(/^scim-hg-v1-[0-9a-f]{64}$/)
      expect(data).toMatchObject({ name: 'Okta', label: `${token.slice(0, 14)}...${token.slice(-3)}` })
      const rows = await server().gateway.db.selectFrom('scim_tokens').selectAll().execute()
      expect(rows.find((row) => row.id === data.id)?.token_hash).toBe(sha256(token))
      expect(JSON.stringify(rows)).not.toContain(token)
      const listed = await server().call('GET', '/scim/tokens')
      expect(listed.body.data).toContainEqual(data)
      expect(JSON.stringify(listed.body)).not.toContain(token)

      expect((await sendScim(server(), 'GET', '/Users', { token })).status).toBe(200)
      expect((await server().call('DELETE', `/scim/tokens/${data.id}`)).status).toBe(200)
      expect((await sendScim(server(), 'GET', '/Users', { token })).status).toBe(401)
      expect((await server().call('DELETE', `/scim/tokens/${data.id}`)).status).toBe(404)
    })

    test('S1 an API key is not a SCIM token, and a SCIM token not an API key', async () => {
      const { managementKey, inferenceKey } = server().own
      for (const token of [managementKey, inferenceKey, 'scim-hg-v1-unknown', 'x'.repeat(2000), null]) {
        const response = await sendScim(server(), 'GET', '/Users', { token })
        expect(response.status).toBe(401)
        expect(response.headers.get('www-authenticate')).toStartWith('Bearer')
      }
      const header = { 'x-api-key': provider.token }
      expect((await sendScim(server(), 'GET', '/Users', { token: null, headers: header })).status).toBe(401)
      for (const path of ['/key', '/keys', '/scim/groups', '/scim/tokens']) {
        expect((await server().call('GET', path, { key: provider.token })).status).toBe(401)
      }
    })

    test.each(['/ServiceProviderConfig', '/Schemas', '/ResourceTypes', '/Groups', '/nothing'])(
      '401 in the form of SCIM for %s without a token',
      async (path) => {
        expect((await sendScim(server(), 'GET', path, { token: null })).status).toBe(401)
      },
    )
  })

  describe('discovery', () => {
    test('ServiceProviderConfig lists the supported features', async () => {
      for (const path of ['/ServiceProviderConfig', '/ServiceProviderConfig/']) {
        const { body } = await provider.send('GET', path)
        expect(body).toMatchObject({
          patch: { supported: true },
          bulk: { supported: false },
          filter: { supported: true, maxResults: 200 },
          sort: { supported: false },
          etag: { supported: false },
          authenticationSchemes: [{ type: 'oauthbearertoken' }],
        })
      }
    })

    test('each schema and resource type is listed and can be read by its id', async () => {
      for (const path of ['/Schemas', '/ResourceTypes']) {
        const { body } = await provider.send('GET', path)
        expect(body.totalResults).toBe(body.Resources.length)
        for (const entry of body.Resources) {
          const one = await provider.send('GET', `${path}/${entry.id}`)
          expect(one.body).toEqual(entry)
          expect(entry.meta.location).toBe(`${server().url}/scim/v2${path}/${entry.id}`)
        }
        expect((await provider.send('GET', `${path}/nothing`)).status).toBe(404)
      }
      const { body } = await provider.send('GET', '/ResourceTypes')
      expect(body.Resources.map((entry: { endpoint: string }) => entry.endpoint)).toEqual([
        '/Users',
        '/Groups',
      ])
    })
  })

  test('the schemas declare what clients may set: active is required, display of a member is read-only', async () => {
    const { body } = await provider.send('GET', '/Schemas')
    const attribute = (schema: string, name: string) =>
      body.Resources.find((entry: { name: string }) => entry.name === schema).attributes.find(
        (entry: { name: string }) => entry.name === name,
      )
    expect(attribute('User', 'active').required).toBe(true)
    expect(attribute('Group', 'members').subAttributes).toContainEqual(
      expect.objectContaining({ name: 'display', mutability: 'readOnly', returned: 'request' }),
    )
  })

  describe('errors', () => {
    test.each(['POST /Users', 'POST /Groups', 'PUT /Users/x', 'PATCH /Groups/x'])(
      '400 invalidSyntax for a body of %s that is no JSON object',
      async (route) => {
        const [method = '', path = ''] = route.split(' ')
        for (const body of ['{', '', '[]', '"x"', 'null', '{"__proto__":{}}']) {
          const response = await provider.send(method, path, body)
          expect(response).toMatchObject({ status: 400, body: { scimType: 'invalidSyntax' } })
        }
      },
    )

    test('application/json is accepted too; other types are 415', async () => {
      const body = buildUserBody(`${newId('j')}@example.com`)
      const json = await provider.send('POST', '/Users', body, {
        headers: { 'content-type': 'application/json; charset=utf-8' },
      })
      expect(json.status).toBe(201)
      const text = await provider.send('POST', '/Users', body, { headers: { 'content-type': 'text/plain' } })
      expect(text.status).toBe(415)
    })

    test('413 for more than 1 MiB', async () => {
      const body = { ...buildUserBody('big@example.com'), title: 'x'.repeat(1024 * 1024) }
      expect((await provider.send('POST', '/Users', body)).status).toBe(413)
    })

    test('404 for an unknown path or id, 405 for another method', async () => {
      for (const path of ['/Nothing', '/Users/x/y', `/Users/${newUuid()}`, '/Users/%FF', '/Groups/%00']) {
        expect((await provider.send('GET', path)).status).toBe(404)
      }
      for (const route of ['PATCH /Users', 'DELETE /Groups', 'POST /Users/x', 'PUT /Schemas']) {
        const [method = '', path = ''] = route.split(' ')
        const response = await provider.send(method, path, {})
        expect(response.status).toBe(405)
        expect(response.headers.get('allow')).toStartWith('GET')
      }
    })

    test('a count or startIndex beyond any list is valid', async () => {
      for (const query of [
        'count=1000000000',
        `count=${'9'.repeat(400)}`,
        'startIndex=99999999999999999999',
      ]) {
        expect((await provider.send('GET', `/Users?${query}`)).status).toBe(200)
      }
    })

    test.each(['startIndex=x', 'count=1.5', 'filter=userName%20eq', 'filter=userName%20pr%20x'])(
      '400 for %s',
      async (query) => {
        expect((await provider.send('GET', `/Users?${query}`)).status).toBe(400)
      },
    )
  })

  test('I9 R37 a token of another organization reads and changes nothing of this one', async () => {
    const { id } = await provider.createUser(newId('ours'))
    const group = await provider.createGroup(newId('ours'), [id])
    const theirs = await connectIdentityProvider(server(), server().foreign)
    expect((await theirs.send('GET', '/Users')).body.totalResults).toBe(0)
    expect((await theirs.send('GET', '/Groups')).body.totalResults).toBe(0)
    for (const path of [`/Users/${id}`, `/Groups/${group}`]) {
      expect((await theirs.send('GET', path)).status).toBe(404)
      expect((await theirs.send('DELETE', path)).status).toBe(404)
      const patch = buildPatchBody({ op: 'replace', path: 'displayName', value: 'theirs' })
      expect((await theirs.send('PATCH', path, patch)).status).toBe(404)
      const put = { ...buildUserBody('theirs@example.com'), displayName: 'theirs' }
      expect((await theirs.send('PUT', path, put)).status).toBe(404)
    }
    expect((await theirs.send('GET', `/Groups?filter=id%20eq%20%22${group}%22`)).body.totalResults).toBe(0)
    const members = { displayName: newId('theirs'), members: [{ value: id }] }
    const stolen = await theirs.send('POST', '/Groups', members)
    expect(stolen).toMatchObject({ status: 400, body: { scimType: 'invalidValue' } })
    expect((await provider.send('GET', `/Groups/${group}`)).body.members).toHaveLength(1)
  })
})

test('R21 I8 a failing database is a SCIM error 500, never 401 or 404', async () => {
  const server = await startTestServer('sqlite')
  const provider = await connectIdentityProvider(server)
  await server.gateway.db.schema.dropTable('scim_group_members').execute()
  const group = await provider.send('POST', '/Groups', { displayName: 'x' })
  expect(group).toMatchObject({ status: 500, body: { detail: 'Internal error.' } })
  await server.gateway.db.schema.dropTable('scim_tokens').execute()
  expect((await provider.send('GET', '/Users')).status).toBe(500)
  await server.stop()
})
