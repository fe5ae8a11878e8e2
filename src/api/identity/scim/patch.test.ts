import { beforeAll, describe, expect, test } from 'bun:test'
import { measureCpuTimeOf } from '../../../../test/support/cpu-time.ts'
import { describeOnEachDatabase } from '../../../../test/support/harness.ts'
import {
  buildPatchBody,
  connectIdentityProvider,
  type IdentityProvider,
} from '../../../../test/support/scim.ts'
import { newId } from '../../../platform/crypto/ids.ts'

const enterprise = 'urn:ietf:params:scim:schemas:extension:enterprise:2.0:User'

describeOnEachDatabase('SCIM PATCH of users', (server) => {
  let provider: IdentityProvider
  beforeAll(async () => {
    provider = await connectIdentityProvider(server())
  })

  const patch = (id: string, ...operations: unknown[]) =>
    provider.send('PATCH', `/Users/${id}`, buildPatchBody(...operations))
  const emailOf = async (member: string) => {
    const { body } = await server().call('GET', '/organization/members?limit=100')
    return body.data.find((one: { id: string }) => one.id === member)?.email
  }
  const within = async <T>(milliseconds: number, work: () => Promise<T>): Promise<T> => {
    const { result, ms } = await measureCpuTimeOf(work)
    expect(ms).toBeLessThan(milliseconds)
    return result
  }

  describe('cost', () => {
    const groups = Array.from({ length: 14 }, () => '(type pr or value pr)').join(' and ')
    const hidden = Array.from({ length: 14 }, () => '(type pr or value pr)').join('and')

    test.each([
      `emails[${groups}].value`,
      `emails[type eq "x\\" and ${hidden} and type eq \\"x"].value`,
      'emails[type ne "work"].value',
      'emails[type eq "work" or type eq "home"].value',
      'emails[type eq "work" and type eq "home"].value',
      'emails[nothing eq "work"].value',
      'emails[type eq].value',
      'emails[].value',
    ])('400 invalidFilter at once for the path %s', async (path) => {
      const { id } = await provider.createUser(newId('filter'))
      const operation = { op: 'replace', path, value: 'x@example.com' }
      const response = await within(500, () => patch(id, operation))
      expect(response).toMatchObject({ status: 400, body: { scimType: 'invalidFilter' } })
    })

    test('the values of a remove are compared, and never read as a filter', async () => {
      const { id } = await provider.createUser(newId('values'))
      await patch(id, {
        op: 'add',
        path: 'emails',
        value: ['b', 'c'].map((name) => ({ value: `${name}@example.com`, type: 'home' })),
      })
      const sly = { value: `x" or ${hidden} or value eq "x` }
      const nobody = await within(500, () => patch(id, { op: 'remove', path: 'emails', value: [sly, {}] }))
      expect(nobody).toMatchObject({ status: 200 })
      expect(nobody.body.emails).toHaveLength(3)
      const one = await patch(id, { op: 'remove', path: 'emails', value: [{ VALUE: 'b@example.com' }] })
      expect(one.body.emails).toHaveLength(2)
      const other = await patch(id, { op: 'remove', path: 'emails', value: { value: 'c@example.com' } })
      expect(other.body.emails).toHaveLength(1)
    })

    test('413 for too many attributes, also of one value', async () => {
      const { id } = await provider.createUser(newId('keys'))
      const value = Object.fromEntries(
        Array.from({ length: 800 }, (_, i) => [`emails[type eq "t${i}"].value`, `e${i}@example.com`]),
      )
      expect((await within(500, () => patch(id, { op: 'replace', value }))).status).toBe(413)
      const parts = Array.from({ length: 101 }, () => ({ op: 'replace', path: 'title', value: 'x' }))
      expect((await patch(id, ...parts)).status).toBe(413)
      expect((await within(3000, () => patch(id, ...parts.slice(1)))).status).toBe(200)
    })

    test('400 invalidValue for more than 100 values of one attribute, however they come', async () => {
      const { id, email } = await provider.createUser(newId('long'))
      const list = (length: number, start = 0) =>
        Array.from({ length }, (_, i) => ({ value: `+1 555 ${start + i}`, type: 'other' }))
      const long = { status: 400, body: { scimType: 'invalidValue' } }
      const add = (length: number, start?: number) => ({
        op: 'add',
        path: 'phoneNumbers',
        value: list(length, start),
      })
      expect(await within(500, () => patch(id, add(5000)))).toMatchObject(long)
      expect(await patch(id, add(60), add(60, 60))).toMatchObject(long)
      expect(await patch(id, add(100), add(100))).toMatchObject({ status: 200 })
      const body = { userName: email, phoneNumbers: list(101) }
      expect(await provider.send('PUT', `/Users/${id}`, body)).toMatchObject(long)
      expect(await provider.send('POST', '/Users', { ...body, userName: newId('l') })).toMatchObject(long)
      const ours = { userName: email, groups: list(150), unknownThing: list(150) }
      expect(await provider.send('PUT', `/Users/${id}`, ours)).toMatchObject({ status: 200 })
    })

    test('a user who had more values before can still be deactivated', async () => {
      const { id, email } = await provider.createUser(newId('old'))
      const entitlements = Array.from({ length: 150 }, (_, i) => ({ value: `e${i}` }))
      await server()
        .gateway.db.updateTable('scim_users')
        .set({ resource: JSON.stringify({ userName: email, entitlements }) })
        .where('id', '=', id)
        .execute()
      const response = await patch(id, { op: 'replace', path: 'active', value: false })
      expect(response).toMatchObject({ status: 200, body: { active: false } })
      expect(response.body.entitlements).toHaveLength(150)
    })
  })

  test.each([[{ toString: 1 }], [1], [null], [['add']]])('400 for the op %j', async (op) => {
    const { id } = await provider.createUser(newId('op'))
    const response = await patch(id, { op, path: 'title', value: 'x' })
    expect(response).toMatchObject({ status: 400, body: { scimType: 'invalidSyntax' } })
  })

  describe('the enterprise schema', () => {
    test('its attributes have no case, and those it does not have are 400', async () => {
      const { id } = await provider.createUser(newId('ent'))
      const path = `${enterprise.toUpperCase()}:DEPARTMENT`
      const set = await patch(id, { op: 'add', path, value: 'D1' })
      expect(set).toMatchObject({ status: 200, body: { [enterprise]: { department: 'D1' } } })
      const whole = { DIVISION: 'V', manager: 'boss', unknownThing: 1 }
      const more = await patch(id, { op: 'replace', value: { [enterprise]: whole } })
      expect(more.body[enterprise]).toEqual({ department: 'D1', division: 'V', manager: { value: 'boss' } })
      const gone = await patch(id, { op: 'remove', path })
      expect(gone.body[enterprise]).not.toHaveProperty('department')
      const bad = await patch(id, { op: 'add', path: `${enterprise}:nothing`, value: 'x' })
      expect(bad).toMatchObject({ status: 400, body: { scimType: 'invalidPath' } })
      const text = await patch(id, { op: 'add', path: enterprise, value: 'x' })
      expect(text).toMatchObject({ status: 400, body: { scimType: 'invalidValue' } })
    })

    test.each([
      { op: 'remove', path: enterprise },
      { op: 'replace', path: enterprise.toLowerCase(), value: null },
      { op: 'replace', value: { [enterprise]: null } },
    ])('all of it is removed by %j', async (operation) => {
      const { id } = await provider.createUser(newId('ent'), { [enterprise]: { department: 'D1' } })
      const response = await patch(id, operation)
      expect(response.status).toBe(200)
      expect(response.body).not.toHaveProperty([enterprise])
      expect(response.body.schemas).not.toContain(enterprise)
    })

    test.each([
      { op: 'add', path: enterprise },
      { op: 'replace', path: enterprise },
    ])('a value of all of it may name its schemas: %j', async (operation) => {
      const { id } = await provider.createUser(newId('ent'))
      const value = { schemas: [enterprise], id: 'x', meta: {}, department: 'D1' }
      const response = await patch(id, { ...operation, value })
      expect(response).toMatchObject({ status: 200, body: { [enterprise]: { department: 'D1' } } })
      const own = await patch(id, { op: 'add', path: `${enterprise}:schemas`, value: [enterprise] })
      expect(own).toMatchObject({ status: 400, body: { scimType: 'invalidPath' } })
    })

    test('is found by', async () => {
      const department = newId('Dep')
      const { id } = await provider.createUser(newId('ent'), {
        [enterprise]: { department, manager: 'boss' },
      })
      for (const filter of [
        `${enterprise}:department eq "${department.toUpperCase()}"`,
        `${enterprise.toLowerCase()}:DEPARTMENT sw "${department}" and ${enterprise}:manager.value eq "boss"`,
      ]) {
        const { body } = await provider.send('GET', `/Users?filter=${encodeURIComponent(filter)}`)
        expect(body.Resources).toMatchObject([{ id }])
      }
    })
  })

  test.each([
    { op: 'add', path: 'name', value: { unknownThing: 'x' } },
    { op: 'add', path: 'name', value: 'text' },
    { op: 'add', path: 'emails', value: [7] },
    { op: 'add', path: 'emails', value: [null] },
    { op: 'replace', path: 'emails[type eq "work"]', value: 'x' },
    { op: 'add', path: 'emails.value', value: 'x' },
    { op: 'replace', path: 'name.givenName', value: { a: 1 } },
    { op: 'add', path: `${enterprise}:manager.value`, value: [[]] },
  ])('messages of the JavaScript engine are not exposed: %j', async (operation) => {
    const { id } = await provider.createUser(newId('eng'))
    const { status, body } = await patch(id, operation)
    if (status !== 200) expect(status).toBe(400)
    expect(body.detail ?? '').not.toMatch(/undefined|evaluating|object that|readonly|not a function|Symbol/)
  })

  test('an unknown attribute of a value is dropped, as it is in a whole user', async () => {
    const { id } = await provider.createUser(newId('unk'))
    const value = { active: false, unknownThing: 'x', 'urn:example:custom:2.0:User': { a: 1 } }
    const response = await patch(id, { op: 'replace', value })
    expect(response).toMatchObject({ status: 200, body: { active: false } })
    expect(response.body).not.toHaveProperty('unknownThing')
  })

  test.each([
    { op: 'remove', path: 'emails' },
    { op: 'replace', path: 'emails', value: [] },
    { op: 'replace', path: 'emails', value: null },
  ])('e-mails that are removed are not shown until some are set: %j', async (operation) => {
    for (const extra of [{}, { userName: newId('plain') }, { emails: [] }]) {
      const { id, member, email } = await provider.createUser(newId('rem'), extra)
      expect((await patch(id, operation)).body).not.toHaveProperty('emails')
      await patch(id, { op: 'replace', path: 'title', value: 'x' })
      expect((await provider.send('GET', `/Users/${id}`)).body).not.toHaveProperty('emails')
      expect(await emailOf(member)).toBe(email)
      const own = `${newId('own')}@example.com`
      const set = await patch(id, { op: 'add', path: 'emails', value: [{ value: own }] })
      expect(set.body.emails).toMatchObject([{ value: own }])
      expect(await emailOf(member)).toBe(own)
    }
  })

  test('active cannot be removed, and null leaves it as it is', async () => {
    const { id } = await provider.createUser(newId('act'), { active: false })
    const removed = await patch(id, { op: 'remove', path: 'active' })
    expect(removed).toMatchObject({ status: 400, body: { scimType: 'mutability' } })
    const unset = await patch(id, { op: 'replace', path: 'active', value: null })
    expect(unset).toMatchObject({ status: 200, body: { active: false } })
  })

  test('without e-mails of its own, the e-mail follows userName; one that was set stays', async () => {
    const { id, member } = await provider.createUser(newId('syn'), { emails: [] })
    await patch(id, { op: 'replace', path: 'title', value: 'x' })
    const name = `${newId('moved')}@example.com`
    const moved = await patch(id, { op: 'replace', path: 'userName', value: name })
    expect(moved.body).toMatchObject({ userName: name, emails: [{ value: name }] })
    expect(await emailOf(member)).toBe(name)
    const own = `${newId('own')}@example.com`
    await patch(id, { op: 'replace', path: 'emails[type eq "work"].value', value: own })
    await patch(id, { op: 'replace', path: 'userName', value: `${newId('again')}@example.com` })
    expect(await emailOf(member)).toBe(own)
  })
})
