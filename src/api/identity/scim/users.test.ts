import { beforeAll, describe, expect, test } from 'bun:test'
import { createTenant, describeOnEachDatabase } from '../../../../test/support/harness.ts'
import {
  buildPatchBody,
  buildUserBody,
  connectIdentityProvider,
  type IdentityProvider,
} from '../../../../test/support/scim.ts'
import { useSignInLink } from '../../../../test/support/sessions.ts'
import { createSignInToken, findSession } from '../../../identity/sessions.ts'
import { newId } from '../../../platform/crypto/ids.ts'

describeOnEachDatabase('SCIM users', (server) => {
  let provider: IdentityProvider
  beforeAll(async () => {
    provider = await connectIdentityProvider(server())
  })

  const memberOf = async (id: string) => {
    const { body } = await server().call('GET', '/organization/members?limit=100')
    return body.data.find((member: { id: string }) => member.id === id)
  }
  const activate = (id: string, value: unknown) =>
    provider.send('PATCH', `/Users/${id}`, buildPatchBody({ op: 'replace', path: 'active', value }))
  const keyFor = async (creator_user_id: string) =>
    (await server().call('POST', '/keys', { body: { name: 'k', creator_user_id } })).body as {
      key: string
      data: { hash: string }
    }
  const works = async (key: string) => (await server().call('GET', '/key', { key })).status
  const find = (filter: string, rest = '') =>
    provider.send('GET', `/Users?filter=${encodeURIComponent(filter)}${rest}`)

  test('S1 a new address ends the sign-in links that were mailed to the old one', async () => {
    const { gateway } = server()
    const { id, member } = await provider.createUser(newId('moved'))
    const mailed = await createSignInToken(gateway.db, gateway.clock, member, 'email')
    const fromOperator = await createSignInToken(gateway.db, gateway.clock, member)
    const change = (value: string) =>
      provider.send(
        'PATCH',
        `/Users/${id}`,
        buildPatchBody({ op: 'replace', path: 'emails', value: [{ value }] }),
      )
    expect((await change(`${newId('moved')}@example.com`)).status).toBe(200)
    expect(await useSignInLink(server(), mailed)).toBeUndefined()
    expect(await useSignInLink(server(), fromOperator)).toBeDefined()
  })

  describe('creating', () => {
    test('no spelling of a domain makes a second member', async () => {
      const name = newId('same')
      const extra = { userName: name, emails: [{ value: `${name}@b。example` }] }
      const { member } = await provider.createUser(name, extra)
      expect((await memberOf(member)).email).toBe(`${name}@b.example`)
      for (const domain of ['b。example', 'Ｂ.example', 'B.EXAMPLE']) {
        const body = { ...buildUserBody(newId('other')), emails: [{ value: `${name}@${domain}` }] }
        expect((await provider.send('POST', '/Users', body)).status, domain).toBe(409)
        const invited = { body: { email: `${name}@${domain}` } }
        expect((await server().call('POST', '/organization/invitations', invited)).status, domain).toBe(409)
      }
    })

    test('creates a member of the organization, with the role org:member whatever roles are sent', async () => {
      const name = newId('new')
      const { member, id } = await provider.createUser(name, {
        name: { givenName: 'Ada', familyName: 'Lovelace' },
        roles: [{ value: 'org:admin', primary: true }],
      })
      expect(await memberOf(member)).toEqual({
        id: member,
        email: `${name}@example.com`,
        first_name: 'Ada',
        last_name: 'Lovelace',
        role: 'org:member',
      })
      const { body, headers } = await provider.send('GET', `/Users/${id}`)
      expect(body.meta.location).toBe(`${server().url}/scim/v2/Users/${id}`)
      expect(headers.get('x-request-id')).toBeTruthy()
    })

    test.each([
      'emails',
      'phoneNumbers',
      'ims',
      'photos',
      'addresses',
      'entitlements',
      'roles',
      'x509Certificates',
    ])('keeps %s of any type', async (attribute) => {
      const special: Record<string, Record<string, string>> = {
        emails: { value: `${newId('kind')}@example.com` },
        photos: { value: 'https://example.com/photo.png' },
        addresses: { locality: 'Oslo' },
      }
      const values = [{ ...(special[attribute] ?? { value: 'aGVyb24=' }), type: 'of a kind of its own' }]
      const { id } = await provider.createUser(newId('kind'), { [attribute]: values })
      const replace = buildPatchBody({ op: 'replace', path: attribute, value: values })
      expect((await provider.send('PATCH', `/Users/${id}`, replace)).body[attribute]).toEqual(values)
    })

    test('returns 201 with the location of the user', async () => {
      const response = await provider.send('POST', '/Users/', buildUserBody(`${newId('u')}@example.com`))
      expect(response.status).toBe(201)
      expect(response.headers.get('location')).toBe(response.body.meta.location)
    })

    test('links to the member who has the e-mail, without changing their role', async () => {
      const { owner } = server().own
      const body = { ...buildUserBody('someone.else'), emails: [{ value: owner.email.toUpperCase() }] }
      const response = await provider.send('POST', '/Users', { ...body, name: { givenName: 'Olive' } })
      expect(response.status).toBe(201)
      expect(await memberOf(owner.id)).toMatchObject({ role: 'org:admin', first_name: 'Olive' })
      const again = await provider.send('POST', '/Users', { ...body, userName: 'another.name' })
      expect(again).toMatchObject({ status: 409, body: { scimType: 'uniqueness' } })
    })

    test('R37 an externalId equal to the id or e-mail of an admin, or to a number, changes no other member', async () => {
      const other = await createTenant(server().gateway, 'External')
      const idp = await connectIdentityProvider(server(), other)
      const before = await server().gateway.db.selectFrom('members').selectAll().orderBy('id').execute()
      const [owner] = [other.owner]
      const made: string[] = []
      for (const externalId of [owner.id, owner.email, '1', other.organization.id]) {
        const { id, member } = await idp.createUser(newId('ext'), { externalId })
        expect(member).not.toBe(owner.id)
        const off = buildPatchBody({ op: 'replace', path: 'active', value: false })
        expect((await idp.send('PATCH', `/Users/${id}`, off)).status).toBe(200)
        expect((await idp.send('GET', `/Users/${externalId}`)).status).toBe(404)
        const found = await idp.send('GET', `/Users?filter=externalId%20eq%20%22${externalId}%22`)
        expect(found.body.Resources.map((user: { id: string }) => user.id)).toEqual([id])
        made.push(member)
      }
      const after = await server().gateway.db.selectFrom('members').selectAll().orderBy('id').execute()
      expect(after.filter((row) => !made.includes(row.id))).toEqual(before)
    })

    test('without an e-mail, a userName that is an address stands for one; without either there is none', async () => {
      const email = `${newId('plain')}@example.com`
      const { status, body } = await provider.send('POST', '/Users', { userName: email })
      expect(status).toBe(201)
      expect(body).toMatchObject({ active: true, emails: [{ value: email, primary: true }] })
      const names = [newId('plain'), newId('plain')]
      const made = await Promise.all(names.map((userName) => provider.send('POST', '/Users', { userName })))
      expect(made.map((response) => response.status)).toEqual([201, 201])
      expect(made.every((response) => response.body.emails === undefined)).toBe(true)
      const members = await server().call('GET', '/organization/members?limit=100')
      expect(members.body.data.filter((member: { email: string }) => member.email === '')).toHaveLength(2)
      const add = buildPatchBody({ op: 'add', path: 'emails', value: [{ value: `${names[0]}@example.com` }] })
      const changed = await provider.send('PATCH', `/Users/${made[0]?.body.id}`, add)
      expect(changed.body.emails).toEqual([{ value: `${names[0]}@example.com` }])
    })

    test.each([
      [{ emails: [{ value: 'a@example.com' }] }, 'userName'],
      [{ userName: '' }, 'userName'],
      [{ userName: 7 }, 'userName'],
      [{ userName: `${'x'.repeat(300)}@example.com` }, 'userName'],
      [{ userName: 'a', emails: [{ value: 'no address' }] }, 'emails'],
      [{ userName: 'a@example.com', active: 'perhaps' }, 'active'],
      [{ userName: 'a@example.com', name: 'Ada' }, 'name'],
    ])('400 invalidValue naming the attribute: %j', async (body, attribute) => {
      const response = await provider.send('POST', '/Users', body)
      expect(response).toMatchObject({ status: 400, body: { scimType: 'invalidValue' } })
      expect(response.body.detail).toContain(attribute)
    })

    test('R22 of 20 creates of one userName, in any case, one is 201 and the rest 409', async () => {
      const name = `${newId('race')}@example.com`
      const responses = await Promise.all(
        Array.from({ length: 20 }, (_, i) =>
          provider.send('POST', '/Users', buildUserBody(i % 2 ? name : name.toUpperCase())),
        ),
      )
      const statuses = responses.map((response) => response.status).sort()
      expect(statuses).toEqual([201, ...Array(19).fill(409)])
      expect((await find(`userName eq "${name}"`)).body.totalResults).toBe(1)
    })

    test('R40 a password is neither stored nor returned', async () => {
      const password = newId('secret')
      const { id } = await provider.createUser(newId('pw'), { password })
      await provider.send('PATCH', `/Users/${id}`, buildPatchBody({ op: 'replace', value: { password } }))
      expect(JSON.stringify((await provider.send('GET', `/Users/${id}`)).body)).not.toContain(password)
      const rows = await server().gateway.db.selectFrom('scim_users').selectAll().execute()
      expect(JSON.stringify(rows)).not.toContain(password)
    })
  })

  describe('changing', () => {
    test('the member gets the names and e-mail; PUT clears absent attributes, except active', async () => {
      const { id, member, email } = await provider.createUser(newId('put'), {
        name: { givenName: 'A', familyName: 'B' },
        title: 'Engineer',
      })
      await activate(id, false)
      const changed = `${newId('moved')}@example.com`
      const body = { userName: email, emails: [{ value: changed, primary: true }], name: { givenName: 'C' } }
      const response = await provider.send('PUT', `/Users/${id}`, body)
      expect(response.body).toMatchObject({ active: false, name: { givenName: 'C' } })
      expect(response.body.name).not.toHaveProperty('familyName')
      expect(response.body).not.toHaveProperty('title')
      expect(await memberOf(member)).toMatchObject({ email: changed, first_name: 'C', last_name: null })
    })

    test('409 uniqueness for a userName or e-mail in use, and nothing changes', async () => {
      const [one, two] = [await provider.createUser(newId('one')), await provider.createUser(newId('two'))]
      const name = buildPatchBody({ op: 'replace', path: 'userName', value: two.email.toUpperCase() })
      expect(await provider.send('PATCH', `/Users/${one.id}`, name)).toMatchObject({ status: 409 })
      const email = buildPatchBody(
        { op: 'replace', path: 'displayName', value: 'changed' },
        { op: 'replace', path: 'emails[type eq "work"].value', value: two.email },
      )
      const rejected = await provider.send('PATCH', `/Users/${one.id}`, email)
      expect(rejected).toMatchObject({ status: 409, body: { scimType: 'uniqueness' } })
      expect((await provider.send('GET', `/Users/${one.id}`)).body).not.toHaveProperty('displayName')
    })

    test('a PATCH is all or nothing', async () => {
      const { id } = await provider.createUser(newId('atom'))
      const body = buildPatchBody(
        { op: 'replace', path: 'displayName', value: 'changed' },
        { op: 'replace', path: 'noSuchThing', value: 'x' },
      )
      const response = await provider.send('PATCH', `/Users/${id}`, body)
      expect(response).toMatchObject({ status: 400, body: { scimType: 'invalidPath' } })
      expect((await provider.send('GET', `/Users/${id}`)).body).not.toHaveProperty('displayName')
    })

    test.each([
      [
        { op: 'replace', path: 'USERNAME', value: 'renamed@example.com' },
        { userName: 'renamed@example.com' },
      ],
      [
        { op: 'replace', path: 'urn:ietf:params:scim:schemas:core:2.0:User:displayName', value: 'D' },
        { displayName: 'D' },
      ],
      [{ op: 'add', path: 'name', value: { familyName: 'F' } }, { name: { familyName: 'F' } }],
      [{ op: 'add', value: { nickName: 'N', id: 'ignored' } }, { nickName: 'N' }],
      [{ op: 'replace', path: 'active', value: 'fAlSe' }, { active: false }],
      [
        { op: 'replace', value: { emails: [{ value: 'e@example.com' }] } },
        { emails: [{ value: 'e@example.com' }] },
      ],
      [{ OP: 'Replace', Path: 'title', Value: 'T' }, { title: 'T' }],
    ])('PATCH %j', async (operation, expected) => {
      const { id } = await provider.createUser(newId('patch'))
      const response = await provider.send('PATCH', `/Users/${id}`, buildPatchBody(operation))
      expect(response).toMatchObject({ status: 200, body: expected })
      expect((await provider.send('DELETE', `/Users/${id}`)).status).toBe(204)
    })

    test.each([
      [{ op: 'move', path: 'title' }, 'invalidSyntax'],
      [{ op: 'remove' }, 'noTarget'],
      [{ op: 'replace', path: '][', value: 1 }, 'invalidPath'],
      [{ op: 'replace', path: 'constructor.name', value: 1 }, 'invalidPath'],
      [{ op: 'replace', value: 'text' }, 'invalidValue'],
      [{ op: 'replace', path: 'active', value: 'perhaps' }, 'invalidValue'],
      [{ op: 'remove', path: 'userName' }, 'invalidValue'],
      [{ op: 'replace', path: 'id', value: 'x' }, 'mutability'],
    ])('400 for PATCH %j', async (operation, scimType) => {
      const { id } = await provider.createUser(newId('bad'))
      const response = await provider.send('PATCH', `/Users/${id}`, buildPatchBody(operation))
      expect(response).toMatchObject({ status: 400, body: { scimType } })
    })

    test('adding an e-mail twice keeps one', async () => {
      const { id } = await provider.createUser(newId('twice'))
      const add = buildPatchBody({
        op: 'add',
        path: 'emails',
        value: [{ value: 'b@example.com', type: 'home' }],
      })
      await provider.send('PATCH', `/Users/${id}`, add)
      expect((await provider.send('PATCH', `/Users/${id}`, add)).body.emails).toHaveLength(2)
    })

    test('R22 parallel PATCHes of different attributes all land', async () => {
      const { id } = await provider.createUser(newId('par'))
      const attributes = ['title', 'nickName', 'displayName', 'locale', 'userType', 'timezone']
      await Promise.all(
        attributes.map((path) =>
          provider.send('PATCH', `/Users/${id}`, buildPatchBody({ op: 'add', path, value: path })),
        ),
      )
      const { body } = await provider.send('GET', `/Users/${id}`)
      for (const attribute of attributes) expect(body[attribute]).toBe(attribute)
    })
  })

  describe('deactivating', () => {
    test('R38 keys are 401 at once and sessions end; reactivation enables no key', async () => {
      const { gateway } = server()
      const { id, member } = await provider.createUser(newId('leaver'))
      const [used, disabled] = [await keyFor(member), await keyFor(member)]
      await server().call('PATCH', `/keys/${disabled.data.hash}`, { body: { disabled: true } })
      const link = await createSignInToken(gateway.db, gateway.clock, member)
      const session = await useSignInLink(server(), link)
      const unused = await createSignInToken(gateway.db, gateway.clock, member)
      expect(await works(used.key)).toBe(200)

      expect((await activate(id, false)).body.active).toBe(false)
      expect(await works(used.key)).toBe(401)
      expect(await findSession(gateway, session ?? '')).toBeUndefined()
      expect(await useSignInLink(server(), unused)).toBeUndefined()
      const late = await createSignInToken(gateway.db, gateway.clock, member)
      expect(await useSignInLink(server(), late)).toBeUndefined()
      const enable = { body: { disabled: false } }
      expect((await server().call('PATCH', `/keys/${used.data.hash}`, enable)).status).toBe(409)
      const made = { body: { name: 'k', creator_user_id: member } }
      expect((await server().call('POST', '/keys', made)).status).toBe(409)

      expect((await activate(id, true)).body.active).toBe(true)
      expect(await works(used.key)).toBe(401)
      expect(await works(disabled.key)).toBe(401)
      expect((await server().call('GET', `/keys/${used.data.hash}`)).body.data.disabled).toBe(true)
      expect((await server().call('PATCH', `/keys/${used.data.hash}`, enable)).status).toBe(200)
      expect(await works(used.key)).toBe(200)
      expect(await findSession(gateway, session ?? '')).toBeUndefined()
      expect(await useSignInLink(server(), late)).toBeUndefined()
    })

    test('R38 with restore_keys_on_reactivation, it restores those that the deactivation stopped', async () => {
      const { settings } = server().gateway
      const { id, member } = await provider.createUser(newId('returner'))
      const [used, disabled] = [await keyFor(member), await keyFor(member)]
      await server().call('PATCH', `/keys/${disabled.data.hash}`, { body: { disabled: true } })
      settings.scim.restore_keys_on_reactivation = true
      try {
        await activate(id, false)
        expect(await works(used.key)).toBe(401)
        await activate(id, true)
      } finally {
        settings.scim.restore_keys_on_reactivation = false
      }
      expect([await works(used.key), await works(disabled.key)]).toEqual([200, 401])
    })

    test('R38 a user may be created inactive', async () => {
      const { id, member } = await provider.createUser(newId('asleep'), { active: 'False' })
      expect((await provider.send('GET', `/Users/${id}`)).body.active).toBe(false)
      const made = { body: { name: 'k', creator_user_id: member } }
      expect((await server().call('POST', '/keys', made)).status).toBe(409)
    })

    test('R38 the last active admin can be neither deactivated nor deleted, in any way', async () => {
      const other = await createTenant(server().gateway, 'One admin')
      const idp = await connectIdentityProvider(server(), other)
      const body = buildUserBody(other.owner.email)
      const inactive = await idp.send('POST', '/Users', { ...body, active: false })
      expect(inactive.status).toBe(409)
      expect((await idp.send('GET', '/Users')).body.totalResults).toBe(0)
      const { id } = (await idp.send('POST', '/Users', body)).body
      const off = buildPatchBody(
        { op: 'replace', path: 'displayName', value: 'x' },
        { op: 'replace', path: 'active', value: 'False' },
      )
      expect((await idp.send('PATCH', `/Users/${id}`, off)).status).toBe(409)
      expect((await idp.send('PUT', `/Users/${id}`, { ...body, active: false })).status).toBe(409)
      const rejected = await idp.send('DELETE', `/Users/${id}`)
      expect(rejected).toMatchObject({
        status: 409,
        body: { detail: expect.stringContaining('last active admin') },
      })
      expect((await idp.send('GET', `/Users/${id}`)).body).toMatchObject({ active: true })
      expect((await idp.send('GET', `/Users/${id}`)).body).not.toHaveProperty('displayName')
      expect(await works(other.inferenceKey)).toBe(200)

      const second = await idp.createUser(newId('second'))
      const promote = { key: other.managementKey, body: { role: 'org:admin' } }
      await server().call('PATCH', `/organization/members/${second.member}`, promote)
      expect((await idp.send('PATCH', `/Users/${id}`, off)).status).toBe(200)
      expect(await works(other.inferenceKey)).toBe(401)
      const demote = { key: other.managementKey, body: { role: 'org:member' } }
      expect((await server().call('PATCH', `/organization/members/${second.member}`, demote)).status).toBe(
        409,
      )
      expect((await idp.send('DELETE', `/Users/${second.id}`)).status).toBe(409)
      expect((await idp.send('DELETE', `/Users/${id}`)).status).toBe(204)
    })

    test('R38 the management key of a deactivated admin still works, and creates keys without a creator', async () => {
      const other = await createTenant(server().gateway, 'Two admins')
      const idp = await connectIdentityProvider(server(), other)
      const key = other.managementKey
      const second = await idp.createUser(newId('second'))
      const promote = { key, body: { role: 'org:admin' } }
      await server().call('PATCH', `/organization/members/${second.member}`, promote)
      const { id } = (await idp.send('POST', '/Users', buildUserBody(other.owner.email))).body
      await idp.send('PATCH', `/Users/${id}`, buildPatchBody({ op: 'replace', value: { active: false } }))
      const made = await server().call('POST', '/keys', { key, body: { name: 'k' } })
      expect(made.body.data.creator_user_id).toBeNull()
      expect(await works(made.body.key)).toBe(200)
    })

    test('R22 a key created while its creator is deactivated is rejected or suspended', async () => {
      const { id, member } = await provider.createUser(newId('race'))
      const body = { name: 'k', creator_user_id: member }
      const [, ...responses] = await Promise.all([
        activate(id, false),
        ...Array.from({ length: 10 }, () => server().call('POST', '/keys', { body })),
      ])
      for (const response of responses) {
        if (response.status === 201) expect(await works(response.body.key)).toBe(401)
        else expect(response.status).toBe(409)
      }
    })
  })

  test('deleting removes the member and disables their keys; the name can be used again', async () => {
    const name = newId('gone')
    const { id, member } = await provider.createUser(name)
    const { key } = await keyFor(member)
    expect((await provider.send('DELETE', `/Users/${id}`)).status).toBe(204)
    expect(await works(key)).toBe(401)
    expect(await memberOf(member)).toBeUndefined()
    expect((await provider.send('DELETE', `/Users/${id}`)).status).toBe(404)
    expect((await provider.createUser(name)).id).not.toBe(id)
  })

  describe('finding', () => {
    test('pages in a stable order with the whole count; count is bounded', async () => {
      const other = await createTenant(server().gateway, 'Many')
      const idp = await connectIdentityProvider(server(), other)
      for (let i = 0; i < 7; i++) await idp.createUser(newId(`u${i}`), { active: i % 2 === 0 })
      const ids = async (query: string) => {
        const { body } = await idp.send('GET', `/Users?${query}`)
        expect(body.itemsPerPage).toBe(body.Resources.length)
        return {
          total: body.totalResults,
          start: body.startIndex,
          ids: body.Resources.map((u: { id: string }) => u.id),
        }
      }
      const all = await ids('count=9999')
      expect(all).toMatchObject({ total: 7, start: 1 })
      expect(all.ids).toHaveLength(7)
      const [first, second, third] = [
        await ids('startIndex=1&count=3'),
        await ids('startIndex=4&count=3&sortBy=userName'),
        await ids('startIndex=7&count=3'),
      ]
      expect([...first.ids, ...second.ids, ...third.ids]).toEqual(all.ids)
      expect(second).toMatchObject({ total: 7, start: 4 })
      expect(await ids('startIndex=99')).toMatchObject({ total: 7, ids: [] })
      expect(await ids('count=0')).toMatchObject({ total: 7, ids: [] })
      expect(await ids('startIndex=-3&count=-1')).toMatchObject({ total: 7, start: 1, ids: [] })
      const active = await ids(`filter=${encodeURIComponent('active eq true')}&count=2&startIndex=2`)
      expect(active).toMatchObject({ total: 4, ids: [all.ids[2], all.ids[4]] })
      const totals = [
        ['active eq True', 4],
        ['active eq "False"', 3],
        ['active eq "zzz"', 0],
      ] as const
      for (const [filter, total] of totals) {
        expect(await ids(`filter=${encodeURIComponent(filter)}`)).toMatchObject({ total })
      }
      const memory = await ids(
        `filter=${encodeURIComponent('userName co "U" and active eq false')}&startIndex=2`,
      )
      expect(memory).toMatchObject({ total: 3, start: 2, ids: [all.ids[3], all.ids[5]] })
    })

    test('by id, externalId, any of its e-mails, name; case matters only for ids', async () => {
      const name = newId('find')
      const other = `${newId('second')}_%@example.com`
      const { id, email } = await provider.createUser(name, {
        externalId: 'ExtCase',
        name: { familyName: 'Quine' },
        emails: [
          { value: `${name}@example.com`, primary: true },
          { value: other, type: 'home' },
        ],
      })
      for (const filter of [
        `id eq "${id}"`,
        'externalId eq "ExtCase"',
        `emails.value eq "${email.toUpperCase()}"`,
        `emails.value eq "${other}"`,
        `emails[type eq "home"].value eq "${other}"`,
        `name.familyName eq "QUINE" and userName sw "${name}"`,
        `userName eq "nobody" or userName eq "${email}"`,
      ]) {
        expect({ filter, found: (await find(filter)).body.Resources }).toMatchObject({
          filter,
          found: [{ id }],
        })
      }
      for (const filter of ['externalId eq "extcase"', `emails.value eq "${other.replace('_', 'x')}"`]) {
        expect((await find(filter)).body.totalResults).toBe(0)
      }
    })

    test('returns the requested attributes, always with the id', async () => {
      const { id } = await provider.createUser(newId('sel'), { name: { givenName: 'G', familyName: 'F' } })
      const only = await provider.send('GET', `/Users/${id}?attributes=userName,name.givenName`)
      expect(Object.keys(only.body).sort()).toEqual(['id', 'name', 'schemas', 'userName'])
      expect(only.body.name).toEqual({ givenName: 'G' })
      const except = await provider.send(
        'GET',
        `/Users/${id}?excludedAttributes=emails,NAME.familyName,groups`,
      )
      expect(except.body).not.toHaveProperty('emails')
      expect(except.body).not.toHaveProperty('groups')
      expect(except.body.name).toEqual({ givenName: 'G' })
    })
  })
})
