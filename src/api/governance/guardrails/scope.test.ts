import { beforeAll, expect, test } from 'bun:test'
import { insertContent, insertGeneration } from '../../../../test/support/generations.ts'
import {
  createSessionCaller,
  describeOnEachDatabase,
  type SessionCaller,
} from '../../../../test/support/harness.ts'
import { sha256 } from '../../../platform/crypto/crypto.ts'
import { newUuid } from '../../../platform/crypto/ids.ts'
import { isoNow } from '../../../platform/time/clock.ts'

const draft = { content_filter_builtins: [{ slug: 'email', action: 'redact' }] }

describeOnEachDatabase('what a guardrail admin of one workspace reaches', (server) => {
  let inside = ''
  let insideHash = ''
  let member: SessionCaller
  const outsideHash = () => sha256(server().own.inferenceKey)

  beforeAll(async () => {
    const { own, gateway, call } = server()
    inside = (await call('POST', '/workspaces', { body: { name: 'Inside', slug: 'inside' } })).body.data.id
    insideHash = (await call('POST', '/keys', { body: { name: 'inside', workspace_id: inside } })).body.data
      .hash
    member = await createSessionCaller(server(), { workspaces: { [inside]: 'admin' } })
    for (const [workspace_id, hash] of [
      [inside, insideHash],
      [own.workspace.id, outsideHash()],
    ] as const) {
      const { id: key_id } = await gateway.db
        .selectFrom('api_keys')
        .select('id')
        .where('hash', '=', hash)
        .executeTakeFirstOrThrow()
      const generation_id = await insertGeneration(gateway, own, { workspace_id, key_id })
      await insertContent(
        gateway,
        { ...own, workspace: { ...own.workspace, id: workspace_id } },
        generation_id,
      )
      await gateway.db
        .insertInto('guardrail_hits')
        .values({
          id: newUuid(),
          organization_id: own.organization.id,
          ...{ workspace_id, key_id, generation_id, user_id: own.owner.id },
          ...{ rule: 'email', action: 'flag', enforced: 1, direction: 'input', part: 'text', role: 'user' },
          ...{ count: 1, kinds: '[]', layers: '["key"]', created_at: isoNow(gateway.clock) },
        })
        .execute()
      const guardrail = await call('POST', '/guardrails', { body: { name: 'assigned', workspace_id } })
      const path = `/guardrails/${guardrail.body.data.id}/assignments`
      await call('POST', `${path}/keys`, { body: { key_hashes: [hash] } })
      await call('POST', `${path}/members`, { body: { member_user_ids: [own.owner.id] } })
    }
  })

  test('hits and their totals are those of the workspace', async () => {
    const { body } = await member.call('GET', '/guardrails/hits')
    expect(body.data.map((hit: { workspace_id: string }) => hit.workspace_id)).toEqual([inside])
    const summary = await member.call('GET', '/guardrails/hits/summary?group_by=key')
    expect(summary.body.data).toMatchObject([{ api_key_hash: insideHash, requests: 1 }])
    const all = await server().call('GET', '/guardrails/hits')
    expect(all.body.data).toHaveLength(2)
    const outside = all.body.data.find((hit: { workspace_id: string }) => hit.workspace_id !== inside)
    const byId = await member.call('GET', `/guardrails/hits?generation_id=${outside.generation_id}`)
    expect(byId.body.data).toEqual([])
  })

  test.each([
    ['hits of another workspace', () => `/guardrails/hits?workspace_id=${server().own.workspace.id}`],
    ['hits of a key elsewhere', () => `/guardrails/hits?api_key_hash=${outsideHash()}`],
    ['totals of a key elsewhere', () => `/guardrails/hits/summary?api_key_hash=${outsideHash()}`],
    ['the policy of a key elsewhere', () => `/keys/${outsideHash()}/policy`],
    ['the policy of a management key', () => `/keys/${sha256(server().own.managementKey)}/policy`],
    ['phrases of the organization', () => '/guardrails/allowed-phrases'],
  ])('S2 %s are refused', async (_, path) => {
    const { status, body } = await member.call('GET', path())
    expect(status).toBe(403)
    expect(body.error.message).toContain('guardrails:read')
  })

  test('assignments are those of the workspace', async () => {
    const keys = (await member.call('GET', '/guardrails/assignments/keys')).body
    expect(keys).toMatchObject({ total_count: 1, data: [{ key_hash: insideHash }] })
    const members = (await member.call('GET', '/guardrails/assignments/members')).body
    expect(members.total_count).toBe(1)
    expect((await server().call('GET', '/guardrails/assignments/members')).body.total_count).toBe(2)
  })

  test('a key of another workspace cannot be previewed', async () => {
    const request = { model: 'sandbox/echo', messages: [{ role: 'user', content: 'Hello' }] }
    const preview = (api_key_hash: string) =>
      member.call('POST', '/guardrails/preview', { body: { guardrail: draft, request, api_key_hash } })
    expect((await preview(insideHash)).status).toBe(200)
    expect((await preview(outsideHash())).status).toBe(403)
  })

  test('the phrases and the guardrail of the organization cannot be changed', async () => {
    const body = { phrase: 'ignore everything' }
    expect((await member.call('POST', '/guardrails/allowed-phrases', { body })).status).toBe(403)
    const { id } = (await server().call('POST', '/guardrails/allowed-phrases', { body })).body.data
    expect((await member.call('DELETE', `/guardrails/allowed-phrases/${id}`)).status).toBe(403)
    expect((await server().call('DELETE', `/guardrails/allowed-phrases/${id}`)).status).toBe(200)
    const { guardrail_id } = (await server().call('GET', '/organization/privacy')).body.data
    const change = await member.call('PATCH', `/guardrails/${guardrail_id}`, { body: { description: 'x' } })
    expect(change.status).toBe(403)
    expect((await server().call('GET', `/guardrails/${guardrail_id}`)).status).toBe(404)
  })

  test('R40 the history has the prompts of the workspace, and the reading is recorded without them', async () => {
    const { status, body } = await member.call('POST', '/guardrails/preview/history', {
      body: { guardrail: draft },
    })
    expect(status).toBe(200)
    expect(body.data.examined).toBe(1)
    const all = await server().call('POST', '/guardrails/preview/history', { body: { guardrail: draft } })
    expect(all.body.data.examined).toBe(2)
    const entries = await server()
      .gateway.db.selectFrom('audit_entries')
      .selectAll()
      .where('action', '=', 'content.read')
      .orderBy('seq')
      .execute()
    expect(entries).toMatchObject([
      { actor_type: 'member', actor_id: member.member.id, workspace_id: inside, target_type: 'generation' },
      { actor_type: 'key', workspace_id: null, target_type: 'generation' },
    ])
    expect(JSON.parse(entries[1]?.changes ?? '')).toMatchObject({ details: { examined: 2 } })
    expect(JSON.stringify(entries)).not.toContain('Hello')
  })
})
