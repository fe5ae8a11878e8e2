import { beforeAll, describe, expect, test } from 'bun:test'
import { createKey } from '../../src/identity/keys.ts'
import { insertContent, insertGeneration, insertMemberGeneration } from '../support/generations.ts'
import {
  createSessionCaller,
  describeOnEachDatabase,
  type SessionCaller,
  type TestServer,
} from '../support/harness.ts'
import { makeSample } from '../support/samples.ts'

describeOnEachDatabase('what members reach of the records of requests', (server) => {
  let [inside, outside] = ['', '']
  let member: SessionCaller
  let colleague: SessionCaller

  beforeAll(async () => {
    ;[inside, outside] = [
      await createWorkspace(server(), 'inside'),
      await createWorkspace(server(), 'outside'),
    ]
    member = await createSessionCaller(server(), { workspaces: { [inside]: 'member' } })
    colleague = await createSessionCaller(server(), {
      workspaces: { [inside]: 'member', [outside]: 'member' },
    })
  })

  describe('generations', () => {
    let [own, others, elsewhere] = ['', '', '']
    beforeAll(async () => {
      own = await insertMemberGeneration(server(), member.member, inside)
      others = await insertMemberGeneration(server(), colleague.member, inside)
      elsewhere = await insertMemberGeneration(server(), colleague.member, outside)
    })

    const read = (caller: SessionCaller, id: string) => caller.call('GET', `/generation?id=${id}`)
    const readContent = (caller: SessionCaller, id: string) =>
      caller.call('GET', `/generation/content?id=${id}`)
    const rate = (caller: SessionCaller, id: string) =>
      caller.call('POST', '/generation/feedback', {
        body: { generation_id: id, category: 'other', comment: 'canary-comment' },
      })

    test('S2 a member reads and rates those of their own keys', async () => {
      for (const send of [read, readContent, rate]) {
        expect((await send(member, own)).status).toBe(200)
        for (const id of [others, elsewhere]) {
          const refused = await send(member, id)
          expect(refused.status).toBe(403)
          expect(refused.body.error.metadata.permission).toBe(
            { read: 'generations:read', readContent: 'contents:read', rate: 'generations:write' }[send.name],
          )
        }
      }
    })

    test('R37 those of another organization do not exist', async () => {
      const foreign = await insertGeneration(server().gateway, server().foreign)
      for (const send of [read, readContent, rate]) expect((await send(member, foreign)).status).toBe(404)
    })

    test('an auditor of a workspace reads all of it, and nothing else', async () => {
      const roles = [{ roleId: 'auditor', workspaceId: inside }]
      const auditor = await createSessionCaller(server(), { workspaces: {}, roles })
      for (const send of [read, readContent]) {
        expect((await send(auditor, others)).status).toBe(200)
        expect((await send(auditor, elsewhere)).status).toBe(403)
      }
    })

    test('R40 every reading of a prompt is recorded, without the prompt', async () => {
      await readContent(member, own)
      await rate(member, own)
      const entries = await listEntries(server(), own)
      expect(entries.find(({ action }) => action === 'content.read')).toMatchObject({
        actor_type: 'member',
        actor_id: member.member.id,
        target_type: 'generation',
        workspace_id: inside,
      })
      expect(entries.map(({ action }) => action)).toContain('feedback.create')
      expect(JSON.stringify(entries)).not.toMatch(/Hello|canary/)
    })

    test('an inference key reads only what it requested itself', async () => {
      const { gateway, own: tenant, call } = server()
      const id = await insertGeneration(gateway, tenant)
      await insertContent(gateway, tenant, id)
      const { secret } = await createKey(gateway.db, gateway.clock, {
        organizationId: tenant.organization.id,
        workspaceId: tenant.workspace.id,
        kind: 'inference',
        name: 'other',
      })
      const path = `/generation/content?id=${id}`
      expect((await call('GET', path, { key: tenant.inferenceKey })).status).toBe(200)
      expect((await call('GET', path, { key: secret })).status).toBe(403)
      expect((await call('GET', `/generation?id=${own}`, { key: tenant.inferenceKey })).status).toBe(404)
    })
  })

  describe('files', () => {
    const upload = (caller: SessionCaller, query = '', headers = {}) =>
      caller.call('POST', `/files${query}`, { body: buildForm(), headers })

    test('S2 a member uploads to the workspace that the request names, or to the only one', async () => {
      const { body } = await upload(member)
      expect((await member.call('GET', `/files/${body.id}`)).status).toBe(200)
      const row = await findFile(server(), body.id)
      expect(row.workspace_id).toBe(inside)
      const named = await upload(colleague, `?workspace_id=${outside}`)
      expect((await findFile(server(), named.body.id)).workspace_id).toBe(outside)
      const byHeader = await upload(colleague, '', { 'x-headgate-workspace': inside })
      expect((await findFile(server(), byHeader.body.id)).workspace_id).toBe(inside)
      const path = `/files/${byHeader.body.id}?workspace_id=${inside}`
      expect((await colleague.call('DELETE', path)).status).toBe(200)
    })

    test('and to no other', async () => {
      const refused = await upload(member, `?workspace_id=${outside}`)
      expect(refused.status).toBe(403)
      expect(refused.body.error.message).toContain('files:write')
      expect((await member.call('GET', `/files?workspace_id=${outside}`)).status).toBe(403)
      expect((await upload(colleague)).status).toBe(403)
    })

    test('R40 uploads and deletions are recorded, without the content', async () => {
      const { id } = (await upload(member)).body
      await member.call('DELETE', `/files/${id}`)
      const entries = await listEntries(server(), id)
      expect(entries).toMatchObject([
        { action: 'file.create', actor_type: 'member', actor_id: member.member.id, workspace_id: inside },
        { action: 'file.delete', actor_type: 'member', target_name: 'note.txt' },
      ])
      expect(JSON.stringify(entries)).not.toContain('canary')
    })

    test('an upload in parts ends when the member loses the permission', async () => {
      const leaving = await createSessionCaller(server(), { workspaces: { [inside]: 'member' } })
      const start = async () => {
        const { headers } = await leaving.call('POST', '/upload/v1beta/files', { body: {} })
        return new URL(headers.get('x-goog-upload-url') ?? '').pathname
      }
      const finish = (path: string) =>
        fetch(`${server().url}${path}`, {
          method: 'POST',
          headers: { 'x-goog-upload-command': 'upload, finalize', 'x-goog-upload-offset': '0' },
          body: 'canary',
        })
      const [first, second] = [await start(), await start()]
      const finished = await finish(first)
      expect(finished.status).toBe(200)
      const { file } = (await finished.json()) as { file: { uri: string } }
      const rows = await server().gateway.db.selectFrom('files').selectAll().orderBy('seq', 'desc').execute()
      expect(rows[0]).toMatchObject({ workspace_id: inside })
      expect(file.uri).not.toBe('')
      expect(await listEntries(server(), rows[0]?.id ?? '')).toMatchObject([
        { action: 'file.create', actor_type: 'member', actor_id: leaving.member.id },
      ])
      const memberships = server().gateway.db.deleteFrom('workspace_members')
      await memberships.where('user_id', '=', leaving.member.id).execute()
      expect((await finish(second)).status).toBe(403)
    })
  })

  test('S2 video jobs are those of the workspaces of a member', async () => {
    const { own } = server()
    const { path } = await makeSample(server(), 'deleteVideo', own)
    const insider = await createSessionCaller(server(), { workspaces: { [own.workspace.id]: 'member' } })
    for (const method of ['GET', 'DELETE']) {
      const refused = await member.call(method, path)
      expect(refused.status).toBe(403)
      expect(refused.body.error.message).toContain(method === 'GET' ? 'videos:read' : 'videos:write')
    }
    expect((await member.call('GET', '/videos')).body.data).toEqual([])
    expect((await insider.call('GET', '/videos')).body.data).toHaveLength(1)
    expect((await insider.call('DELETE', path)).status).toBe(200)
    const [entry] = await listEntries(server(), path.split('/').at(-1) ?? '')
    expect(entry).toMatchObject({ action: 'video_job.delete', actor_id: insider.member.id })
    expect(JSON.stringify(entry)).not.toContain('fox')
  })
})

async function createWorkspace({ call }: TestServer, slug: string): Promise<string> {
  return (await call('POST', '/workspaces', { body: { name: slug, slug } })).body.data.id
}

function buildForm(): FormData {
  const form = new FormData()
  form.set('file', new File(['canary content'], 'note.txt', { type: 'text/plain' }))
  return form
}

function findFile({ gateway }: TestServer, id: string) {
  return gateway.db.selectFrom('files').selectAll().where('id', '=', id).executeTakeFirstOrThrow()
}

function listEntries({ gateway }: TestServer, targetId: string) {
  return gateway.db
    .selectFrom('audit_entries')
    .selectAll()
    .where('target_id', '=', targetId)
    .orderBy('seq')
    .execute()
}
