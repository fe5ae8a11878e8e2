import { describe, expect, test } from 'bun:test'
import { chmodSync, existsSync, mkdirSync, readdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { ContainerEnvironment } from '../../src/containers/environment.ts'
import { toContainerFileId } from '../../src/containers/ids.ts'
import { findContainer } from '../../src/containers/store.ts'
import {
  bwrapPath,
  containersOf,
  formatContainerSettings,
  ownerOf,
  runIn,
  withFolder,
} from '../support/containers.ts'
import { describeOnEachDatabase, startTestServer, type TestServer } from '../support/harness.ts'

const dayMs = 86_400_000
const idleMs = 300_000
const mib = 1024 * 1024
const settings = `${formatContainerSettings({ running_per_workspace: 2, price_per_second: 0.5 })}files: { max_bytes: ${2 * mib}, workspace_bytes: ${3 * mib} }\n`

const allowList = (...allowed_domains: string[]): ContainerEnvironment => ({
  type: 'container_auto',
  network_policy: { type: 'allowlist', allowed_domains },
})

function homesOf({ gateway }: TestServer): string {
  return join(gateway.config.dataDir, 'containers', 'homes')
}

async function uploadFile(server: TestServer, text: string, name: string): Promise<string> {
  const body = new FormData()
  body.append('file', new File([text], name))
  return (await server.call('POST', '/files', { body })).body.id
}

/** A problem as the caller of the service sees it. */
async function problemOf(work: Promise<unknown>): Promise<{ code: string; message: string }> {
  const { code, message } = await work.then(
    () => ({ code: 'none', message: '' }),
    (error) => error,
  )
  return { code, message }
}

if (bwrapPath !== null) describeOnEachDatabase('containers', containerTests, { settings })

function containerTests(server: () => TestServer): void {
  const run = (session: string, command: string, options: Parameters<typeof runIn>[3] = {}) =>
    runIn(server(), session, command, options)
  const list = (id: string, query = '', key = server().own.inferenceKey) =>
    server().call('GET', `/containers/${id}/files${query}`, { key })
  const fileOf = (id: string, path: string, rest = '') =>
    `/containers/${id}/files/${toContainerFileId(path)}${rest}`

  describe('sessions', () => {
    test('a session has a container, named by the end of its key', async () => {
      await run('project/2026/a-very-long-session-key', 'echo 1 > a')
      const again = await run('project/2026/a-very-long-session-key', 'cat a')
      expect(again).toMatchObject({ stdout: '1\n', containerId: 'sess_ery-long-session-key' })
      expect((await run('ü/key', 'ls')).containerId).toBe('sess___key')
    })

    test('a request without a session has a container of its own, which can be named later', async () => {
      const origin = { generationId: 'gen-42' }
      const { containerId } = await containersOf(server()).resolve(
        ownerOf(server().own),
        { type: 'container_auto' },
        origin,
      )
      expect(containerId).toMatch(/^gen_[0-9a-f]{24}$/)
      const environment: ContainerEnvironment = { type: 'container_reference', container_id: containerId }
      await run('other', 'echo kept > b', { environment })
      expect((await run('another', 'cat b', { environment })).stdout).toBe('kept\n')
    })

    test('R37 the same name in another workspace is another container', async () => {
      await run('shared', 'echo mine > secret')
      const { stdout } = await run('shared', 'cat secret || echo none', { tenant: server().foreign })
      expect(stdout).toBe('none\n')
      for (const path of ['', `/${toContainerFileId('secret')}`, `/${toContainerFileId('secret')}/content`]) {
        const address = `/containers/sess_shared/files${path}`
        expect((await server().call('GET', address)).status).toBe(200)
      }
      const { foreign } = server()
      const listed = await list('sess_shared', '', foreign.inferenceKey)
      expect(listed.body.data).toEqual([])
      const read = await server().call('GET', fileOf('sess_shared', 'secret'), { key: foreign.inferenceKey })
      expect(read.status).toBe(404)
      expect((await list('sess_project', '', foreign.inferenceKey)).status).toBe(404)
    })

    test('the network policy is fixed while the container is awake', async () => {
      await run('policy', 'true', { environment: allowList('a.example.com', 'b.example.com') })
      await run('policy', 'true', { environment: allowList('b.example.com', 'a.example.com') })
      await run('policy', 'true')
      const problem = await problemOf(run('policy', 'true', { environment: allowList('c.example.com') }))
      expect(problem.code).toBe('conflict')
      expect(problem.message).toStartWith('network_policy: the container runs with another policy')
      server().clock.advance(idleMs + 1)
      await run('policy', 'echo kept > a', { environment: allowList() })
      const { containerId, stdout } = await run('policy', 'cat a')
      expect(containerId).toMatch(/^sess_policy-r[0-9a-f]{6}$/)
      expect(stdout).toBe('kept\n')
      for (const id of ['sess_policy', containerId]) expect((await list(id)).body.data).toHaveLength(1)
    })

    test('files of the workspace are copied into the home, once', async () => {
      const id = await uploadFile(server(), 'a,b\n1,2\n', 'tables/data set.csv')
      const name = `${id.slice(-8)}-data set.csv`
      const environment: ContainerEnvironment = { type: 'container_auto', file_ids: [id, id] }
      const first = await run('given', `cat '${name}'; echo changed > '${name}'`, { environment })
      expect(first.stdout).toBe('a,b\n1,2\n')
      expect((await run('given', `cat '${name}'; ls`, { environment })).stdout).toBe(`changed\n${name}\n`)
    })

    test('files that do not fit into the home are refused', async () => {
      const { containers } = server().gateway.settings
      const { home_bytes } = containers
      const id = await uploadFile(server(), 'x'.repeat(300_000), 'long.txt')
      Object.assign(containers, { home_bytes: 200_000 })
      const environment: ContainerEnvironment = { type: 'container_auto', file_ids: [id] }
      const problem = await problemOf(run('small', 'true', { environment }))
      Object.assign(containers, { home_bytes })
      expect(problem).toEqual({
        code: 'storage_full',
        message: 'file_ids: the files do not fit into the home of the container.',
      })
    })

    test('an unknown file, or one of another workspace, is 400', async () => {
      const id = await uploadFile(server(), 'text', 'a.txt')
      const environment: ContainerEnvironment = { type: 'container_auto', file_ids: [id, 'hg_file_unknown'] }
      const unknown = await problemOf(run('given', 'true', { environment }))
      expect(unknown).toEqual({
        code: 'invalid_request',
        message: 'file_ids.1: is not a file of this workspace',
      })
      const foreign = {
        environment: { type: 'container_auto' as const, file_ids: [id] },
        tenant: server().foreign,
      }
      expect((await problemOf(run('given', 'true', foreign))).code).toBe('invalid_request')
    })

    test('commands of a container wait for each other; those of a workspace are limited', async () => {
      const texts = ['1', '2', '3'].map((text) => run('queue', `echo ${text} >> log; sleep 0.2; wc -l < log`))
      expect((await Promise.all(texts)).map(({ stdout }) => stdout).sort()).toEqual(['1\n', '2\n', '3\n'])
      const parallel = ['p1', 'p2', 'p3'].map((session) => problemOf(run(session, 'sleep 1')))
      const codes = (await Promise.all(parallel)).map(({ code }) => code)
      expect(codes.sort()).toEqual(['none', 'none', 'rate_limited'])
    })

    test('the time of a command has a price, within what was announced', async () => {
      const { costNanos, elapsedMs } = await run('priced', 'sleep 0.1')
      expect(costNanos).toBe(BigInt(elapsedMs) * 500_000n)
      expect(containersOf(server()).maxCostNanos(2000)).toBe(1_000_000_000n)
      expect(containersOf(server()).maxCostNanos(10_000_000)).toBe(60_000_000_000n)
      expect((await run('priced', 'sleep 5', { timeoutMs: 100 })).costNanos).toBe(50_000_000n)
    })

    test('at most ten changed files are cited, the latest, without hidden ones', async () => {
      await run('cited', 'mkdir d; for i in {1..12}; do echo $i > d/f$i; done; touch .hidden')
      const { files } = await run(
        'cited',
        'sleep 0.05; echo new > d/f3; echo "x" > "line\nbreak ü"; touch .h',
      )
      expect(files.map(({ filename }) => filename).sort()).toEqual(['f3', 'line\nbreak ü'])
      expect(files.find(({ filename }) => filename === 'f3')).toEqual({
        type: 'container_file_citation',
        container_id: 'sess_cited',
        file_id: toContainerFileId('d/f3'),
        filename: 'f3',
        start_index: 0,
        end_index: 0,
      })
      expect((await run('cited', 'touch d/*; touch a b c d2 e')).files).toHaveLength(10)
    })
  })

  describe('retention', () => {
    test('a home without a record is deleted', async () => {
      const orphan = join(homesOf(server()), `home_${'0'.repeat(24)}`)
      mkdirSync(join(orphan, 'folder'), { recursive: true })
      await containersOf(server()).deleteExpired()
      expect(existsSync(orphan)).toBe(true)
      server().clock.advance(3_700_000)
      await containersOf(server()).deleteExpired()
      expect(existsSync(orphan)).toBe(false)
    })

    test('homes that cannot be opened are deleted, and what they link to is not', async () => {
      await withFolder(async (outside) => {
        writeFileSync(join(outside, 'precious'), 'x')
        const damaged = ['a', 'b', 'c', 'd'].map((digit) =>
          join(homesOf(server()), `home_${digit.repeat(24)}`),
        ) as [string, string, string, string]
        const [file, locked, dangling, link] = damaged
        mkdirSync(homesOf(server()), { recursive: true })
        writeFileSync(file, 'not a folder')
        mkdirSync(join(locked, 'folder'), { recursive: true })
        chmodSync(locked, 0)
        symlinkSync('/nowhere', dangling)
        symlinkSync(outside, link)
        server().clock.advance(3_700_000)
        await containersOf(server()).deleteExpired()
        expect(
          readdirSync(homesOf(server())).filter((name) => damaged.some((path) => path.endsWith(name))),
        ).toEqual([])
        expect(readdirSync(outside)).toEqual(['precious'])
      })
    })

    test('homes are deleted 30 days after the last command, whatever is in them', async () => {
      await withFolder(async (outside) => {
        writeFileSync(join(outside, 'precious'), 'x')
        const deep =
          'mkdir -p locked/x; chmod 0 locked; for i in {1..80}; do mkdir dddddddddddddddddddddddddddddd; cd dddddddddddddddddddddddddddddd; done'
        await run('expiring', `ln -s ${outside} out; touch $'a\\nb'; ${deep}`)
        const row = await findContainer(
          server().gateway.db,
          ownerOf(server().own).workspaceId,
          'sess_expiring',
        )
        const home = join(homesOf(server()), row?.home ?? '')
        server().clock.advance(29 * dayMs)
        await containersOf(server()).deleteExpired()
        expect(existsSync(home)).toBe(true)
        server().clock.advance(dayMs + 1000)
        await containersOf(server()).deleteExpired()
        expect(existsSync(home)).toBe(false)
        expect((await list('sess_expiring')).status).toBe(404)
        expect(readdirSync(outside)).toEqual(['precious'])
      })
    })

    test('beyond the number of a workspace, those that sleep are deleted, the oldest first', async () => {
      server().clock.advance(40 * dayMs)
      await containersOf(server()).deleteExpired()
      const { containers } = server().gateway.settings
      Object.assign(containers, { per_workspace: 3 })
      for (const session of ['e1', 'e2', 'e3']) {
        await run(session, 'touch a')
        server().clock.advance(idleMs + 1)
      }
      const listed = async () => {
        const found = await Promise.all(['e1', 'e2', 'e3', 'e4'].map((id) => list(`sess_${id}`)))
        return found.map(({ status }) => status)
      }
      await run('e4', 'head -c 100000 /dev/zero > a')
      expect(await listed()).toEqual([404, 200, 200, 200])
      Object.assign(containers, { workspace_bytes: 50_000 })
      await run('e4', 'true')
      expect(await listed()).toEqual([404, 404, 404, 200])
      const problem = await problemOf(run('e5', 'true'))
      expect(problem.code).toBe('storage_full')
      Object.assign(containers, { per_workspace: 1000, workspace_bytes: 10 * 1024 * mib })
    })
  })

  describe('operations', () => {
    test('files are listed by path, page by page', async () => {
      await run(
        'listed',
        'mkdir -p b/c; echo 12345 > b/c/deep; touch a z; ln -s /etc/passwd link; mkfifo pipe',
      )
      const { body } = await list('sess_listed')
      expect(body.data.map(({ path }: { path: string }) => path)).toEqual(['a', 'b/c/deep', 'z'])
      expect(body).toMatchObject({ object: 'list', has_more: false })
      expect(body.data[1]).toMatchObject({
        id: toContainerFileId('b/c/deep'),
        object: 'container.file',
        container_id: 'sess_listed',
        bytes: 6,
        source: 'assistant',
      })
      const first = await list('sess_listed', '?limit=2')
      expect(first.body).toMatchObject({ has_more: true, last_id: toContainerFileId('b/c/deep') })
      const second = await list('sess_listed', `?limit=2&after=${first.body.last_id}`)
      expect(second.body.data.map(({ path }: { path: string }) => path)).toEqual(['z'])
      expect(second.body.has_more).toBe(false)
      expect((await list('sess_listed', '?after=cfile_!')).status).toBe(400)
      expect((await list('sess_listed', '?limit=1001')).status).toBe(400)
    })

    test('a file with a difficult name is read by its id', async () => {
      const name = 'tab\tnew\nline "ü" 日本'
      await run('names', `echo -n content > $'tab\\tnew\\nline "ü" 日本'`)
      const metadata = await server().call('GET', fileOf('sess_names', name))
      expect(metadata.body).toMatchObject({ path: name, bytes: 7 })
      const content = await server().call('GET', fileOf('sess_names', name, '/content'))
      expect(content).toMatchObject({ status: 200, body: 'content' })
      expect(content.headers.get('content-type')).toBe('application/octet-stream')
      expect(content.headers.get('x-content-type-options')).toBe('nosniff')
      const promoted = await server().call('POST', fileOf('sess_names', name, '/promote'))
      expect(promoted.body).toMatchObject({ filename: 'tab_new_line _ü_ 日本', downloadable: true })
    })

    test('no id and no link leads out of the home', async () => {
      const { dataDir } = server().gateway.config
      await run(
        'links',
        `ln -s ${dataDir} data; ln -s ${dataDir}/headgate.yaml settings; ln -s / root; mkfifo pipe; mkdir folder`,
      )
      const paths = [
        '../../../headgate.yaml',
        '..',
        '/etc/passwd',
        'data/headgate.yaml',
        'settings',
        'root/etc/passwd',
        'pipe',
        'folder',
        'a/../settings',
        'missing',
      ]
      for (const path of paths) {
        for (const rest of ['', '/content']) {
          const { status } = await server().call('GET', fileOf('sess_links', path, rest))
          expect({ path, status }).toEqual({ path, status: 404 })
        }
        expect((await server().call('POST', fileOf('sess_links', path, '/promote'))).status).toBe(404)
      }
      expect((await list('sess_links')).body.data).toEqual([])
    })

    test('a home that was replaced by a link is not followed', async () => {
      await run('replaced', 'touch a')
      const row = await findContainer(server().gateway.db, ownerOf(server().own).workspaceId, 'sess_replaced')
      expect((await list('sess_replaced')).body.data).toHaveLength(1)
      await withFolder(async (outside) => {
        writeFileSync(join(outside, 'secret'), 'x')
        symlinkSync(outside, join(homesOf(server()), row?.home ?? '', 'door'))
        expect((await server().call('GET', fileOf('sess_replaced', 'door/secret'))).status).toBe(404)
      })
    })

    test('promotion copies a file to the workspace, within its quota', async () => {
      await run(
        'promoted',
        'echo result > out.txt; head -c 1600000 /dev/urandom > big; head -c 2200000 /dev/urandom > huge; touch empty',
      )
      const { status, body } = await server().call('POST', fileOf('sess_promoted', 'out.txt', '/promote'))
      expect({ status, name: body.filename, type: body.mime_type }).toEqual({
        status: 200,
        name: 'out.txt',
        type: 'text/plain',
      })
      expect((await server().call('GET', `/files/${body.id}/content`)).body).toBe('result\n')
      const promote = async (path: string) =>
        (await server().call('POST', fileOf('sess_promoted', path, '/promote'))).status
      expect(await promote('huge')).toBe(413)
      expect(await promote('empty')).toBe(400)
      expect(await promote('big')).toBe(200)
      expect(await promote('big')).toBe(403)
      expect(
        readdirSync(join(server().gateway.config.dataDir, 'files')).filter((name) => name.endsWith('.part')),
      ).toEqual([])
    })

    test('a container on another node is 503', async () => {
      await run('moved', 'touch a')
      await server()
        .gateway.db.updateTable('containers')
        .set({ folder_id: 'another' })
        .where('id', '=', 'sess_moved')
        .execute()
      expect((await list('sess_moved')).status).toBe(503)
      expect((await problemOf(run('moved', 'true'))).code).toBe('unavailable')
    })
  })
}

test('without containers, operations say how to enable them', async () => {
  const server = await startTestServer('sqlite')
  try {
    const { status, body } = await server.call('GET', '/containers/sess_a/files')
    expect(status).toBe(404)
    expect(body.error.metadata.reason).toBe('not_offered')
    expect(body.error.message).toContain('containers.engine')
  } finally {
    await server.stop()
  }
})
