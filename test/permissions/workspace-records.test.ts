import { beforeAll, describe, expect, test } from 'bun:test'
import { newId } from '../../src/platform/crypto/ids.ts'
import {
  createSessionCaller,
  describeOnEachDatabase,
  type SessionCaller,
  type TestServer,
} from '../support/harness.ts'

interface RecordKind {
  path: string
  permission: string
  body: (name: string) => Record<string, unknown>
  change: Record<string, unknown>
}

const kinds: Record<string, RecordKind> = {
  'a BYOK key': {
    path: '/byok',
    permission: 'byok',
    body: (name) => ({ provider: 'groq', key: 'canary-credential-0123456789', name }),
    change: { disabled: true },
  },
  'a guardrail': {
    path: '/guardrails',
    permission: 'guardrails',
    body: (name) => ({ name: `${name} ${newId('g')}` }),
    change: { description: 'changed' },
  },
  'a destination': {
    path: '/observability/destinations',
    permission: 'destinations',
    body: (name) => ({
      type: 'webhook',
      name,
      config: { url: 'https://127.0.0.1:9/events', headers: { authorization: 'canary-header' } },
    }),
    change: { enabled: false },
  },
}

describeOnEachDatabase(
  'records of a workspace',
  (server) => {
    for (const [name, kind] of Object.entries(kinds)) describe(name, () => testKind(server, kind))
  },
  { settings: 'egress: { allow_private: ["127.0.0.1:9"] }' },
)

function testKind(server: () => TestServer, { path, permission, body, change }: RecordKind): void {
  let [inside, outside] = ['', '']
  let member: SessionCaller
  let elsewhere = ''

  const create = async (workspace_id: string) =>
    (await server().call('POST', path, { body: { ...body('made by a key'), workspace_id } })).body.data.id

  beforeAll(async () => {
    ;[inside, outside] = [await createWorkspace(server()), await createWorkspace(server())]
    member = await createSessionCaller(server(), { workspaces: { [inside]: 'admin' } })
    elsewhere = await create(outside)
  })

  const expectRefused = ({ status, body: { error } }: { status: number; body: ErrorBody }, verb: string) => {
    expect(status).toBe(403)
    expect(error.metadata).toMatchObject({ error_type: 'permission_denied' })
    expect(error.message).toContain(`${permission}:${verb}`)
  }

  test('a member sees and changes those of their workspaces', async () => {
    const id = await create(inside)
    const created = await member.call('POST', path, { body: body('made by a member') })
    expect(created.body.data).toMatchObject({ workspace_id: inside })
    const listed = await member.call('GET', path)
    expect(listed.body.data.map((record: { id: string }) => record.id).sort()).toEqual(
      [id, created.body.data.id].sort(),
    )
    expect((await member.call('GET', `${path}/${id}`)).status).toBe(200)
    expect((await member.call('PATCH', `${path}/${id}`, { body: change })).status).toBe(200)
    expect((await member.call('DELETE', `${path}/${id}`)).status).toBe(200)
  })

  test('and no others', async () => {
    expectRefused(await member.call('GET', `${path}?workspace_id=${outside}`), 'read')
    expectRefused(await member.call('GET', `${path}/${elsewhere}`), 'read')
    expectRefused(await member.call('PATCH', `${path}/${elsewhere}`, { body: change }), 'write')
    expectRefused(await member.call('DELETE', `${path}/${elsewhere}`), 'write')
    const refused = await member.call('POST', path, { body: { ...body('x'), workspace_id: outside } })
    expectRefused(refused, 'write')
    const headers = { 'x-headgate-workspace': outside }
    expectRefused(await member.call('GET', path, { headers }), 'read')
    expect((await server().call('GET', `${path}/${elsewhere}`)).status).toBe(200)
  })

  test('a member without the permission is refused by its name', async () => {
    const other = await createSessionCaller(server(), { workspaces: { [inside]: 'member' } })
    expectRefused(await other.call('GET', path), 'read')
    expectRefused(await other.call('POST', path, { body: body('x') }), 'write')
  })

  test('S12 R40 the audit log has the member, the workspace and no secret', async () => {
    const { gateway } = server()
    const { id } = (await member.call('POST', path, { body: body('audited') })).body.data
    await member.call('PATCH', `${path}/${id}`, { body: change })
    await member.call('DELETE', `${path}/${id}`)
    const rows = await gateway.db
      .selectFrom('audit_entries')
      .selectAll()
      .where('target_id', '=', id)
      .orderBy('seq')
      .execute()
    expect(rows.map((row) => row.action.split('.')[1])).toEqual(['create', 'update', 'delete'])
    for (const row of rows) {
      expect(row).toMatchObject({ actor_type: 'member', actor_id: member.member.id, workspace_id: inside })
      expect(JSON.stringify(row)).not.toContain('canary')
      expect(JSON.stringify(row)).not.toMatch(/v1\.[\w-]{20}/)
    }
  })
}

async function createWorkspace(server: TestServer): Promise<string> {
  const slug = newId('workspace').toLowerCase().replace('_', '-')
  return (await server.call('POST', '/workspaces', { body: { name: slug, slug } })).body.data.id
}

interface ErrorBody {
  error: { message: string; metadata: { error_type: string } }
}
