import { expect, test } from 'bun:test'
import { describeOnEachDatabase } from '../../../../test/support/harness.ts'
import { buildPatchBody, buildUserBody, connectIdentityProvider } from '../../../../test/support/scim.ts'

describeOnEachDatabase('SCIM in the audit log', (server) => {
  const entriesOf = async (targetId: string) => {
    const rows = await server()
      .gateway.db.selectFrom('audit_entries')
      .selectAll()
      .where('target_id', '=', targetId)
      .orderBy('seq')
      .execute()
    return rows.map((row) => ({ ...row, changes: JSON.parse(row.changes ?? 'null') }))
  }

  test('the identity provider creates, changes, deactivates and deletes a member', async () => {
    const provider = await connectIdentityProvider(server())
    const { data } = (await server().call('GET', '/scim/tokens')).body
    const { id, member, email } = await provider.createUser('ada')
    await provider.send(
      'PATCH',
      `/Users/${id}`,
      buildPatchBody({ op: 'replace', path: 'name.givenName', value: 'Ada' }),
    )
    await provider.send(
      'PATCH',
      `/Users/${id}`,
      buildPatchBody({ op: 'replace', path: 'active', value: false }),
    )
    await provider.send(
      'PATCH',
      `/Users/${id}`,
      buildPatchBody({ op: 'replace', path: 'active', value: true }),
    )
    await provider.send('DELETE', `/Users/${id}`)
    const entries = await entriesOf(member)
    expect(entries.map(({ action }) => action)).toEqual([
      'member.create',
      'member.update',
      'member.deactivate',
      'member.activate',
      'member.delete',
    ])
    for (const entry of entries) {
      expect(entry).toMatchObject({
        chain_id: server().own.organization.id,
        actor_type: 'scim',
        actor_id: data.at(-1).id,
        actor_name: 'provider',
        target_type: 'member',
        target_name: email,
      })
      expect(entry.request_id).not.toBeNull()
    }
    expect(entries[1]?.changes).toEqual({ before: { first_name: null }, after: { first_name: 'Ada' } })
  })

  test('a request that changes nothing is not recorded', async () => {
    const provider = await connectIdentityProvider(server())
    const { id, member, email } = await provider.createUser('same')
    await provider.send('PUT', `/Users/${id}`, buildUserBody(email))
    expect((await entriesOf(member)).map(({ action }) => action)).toEqual(['member.create'])
  })

  test('a member who existed before is linked', async () => {
    const provider = await connectIdentityProvider(server())
    const body = { email: 'known@example.com' }
    const { id } = (await server().call('POST', '/organization/members', { body })).body.data
    await provider.createUser('known')
    expect((await entriesOf(id)).map(({ action }) => action)).toContain('member.link')
  })

  test('R40 other attributes and passwords of a person are not recorded', async () => {
    const provider = await connectIdentityProvider(server())
    const { id, member } = await provider.createUser('canary', {
      password: 'canary-password',
      title: 'canary-title',
    })
    await provider.send(
      'PATCH',
      `/Users/${id}`,
      buildPatchBody({ op: 'replace', path: 'title', value: 'canary-other' }),
    )
    const entries = await entriesOf(member)
    expect(entries.map(({ action }) => action)).toEqual(['member.create', 'member.update'])
    expect(JSON.stringify(entries)).not.toContain('canary-')
  })

  test('groups, and who joins and leaves them', async () => {
    const provider = await connectIdentityProvider(server())
    const [first, second] = [await provider.createUser('first'), await provider.createUser('second')]
    const group = await provider.createGroup('Engineers', [first.id])
    const path = `/Groups/${group}`
    const add = { op: 'add', path: 'members', value: [{ value: first.id }, { value: second.id }] }
    await provider.send('PATCH', path, buildPatchBody(add))
    await provider.send(
      'PATCH',
      path,
      buildPatchBody({ op: 'remove', path: `members[value eq "${first.id}"]` }),
    )
    await provider.send(
      'PATCH',
      path,
      buildPatchBody({ op: 'replace', path: 'displayName', value: 'Makers' }),
    )
    await provider.send('DELETE', path)
    const entries = await entriesOf(group)
    expect(entries.map(({ action, changes }) => [action, changes.details?.members])).toEqual([
      ['scim_group.create', undefined],
      ['scim_group.add_members', JSON.stringify([first.member])],
      ['scim_group.add_members', JSON.stringify([second.member])],
      ['scim_group.remove_members', JSON.stringify([first.member])],
      ['scim_group.update', undefined],
      ['scim_group.delete', undefined],
    ])
  })

  test('a request that fails leaves no entry', async () => {
    const provider = await connectIdentityProvider(server())
    const before = await server().gateway.db.selectFrom('audit_entries').select('id').execute()
    const members = [{ value: '00000000-0000-4000-8000-000000000000' }]
    const failed = await provider.send('POST', '/Groups', { displayName: 'Nobody', members })
    expect(failed.status).toBe(400)
    const after = await server().gateway.db.selectFrom('audit_entries').select('id').execute()
    expect(after).toHaveLength(before.length)
  })
})
