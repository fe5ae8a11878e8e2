import { afterAll, describe, expect, test } from 'bun:test'
import { mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs'
import { tmpdir, userInfo } from 'node:os'
import { join } from 'node:path'
import type { Command } from 'commander'
import { describeOnEachDatabase, type TestServer } from '../../test/support/harness.ts'
import { anchorAuditLog } from '../jobs.ts'
import { sha256 } from '../platform/crypto/crypto.ts'
import { auditCommand, checkAuditCommand } from './audit.ts'
import { benchmarkCommand } from './benchmark.ts'
import type { CommandResult, CommandRunner } from './command.ts'
import { scimCommand, signInCommand } from './identity.ts'
import { keysCommand } from './keys.ts'
import { acceptJournalLossCommand } from './ledger.ts'
import { limitsCommand } from './limits.ts'
import { creditsCommand, organizationsCommand } from './organizations.ts'
import { signingKeyCommand } from './signing-key.ts'
import { ssoCommand } from './sso.ts'
import { tiersCommand } from './tiers.ts'

const folder = mkdtempSync(join(tmpdir(), 'headgate-audit-'))
afterAll(() => rmSync(folder, { recursive: true }))

async function runCommand(
  { gateway }: TestServer,
  create: (run: CommandRunner) => Command,
  args: string[],
): Promise<CommandResult> {
  const results: CommandResult[] = []
  const command = create(async (work) => void results.push(await work(gateway)))
  for (const each of [command, ...command.commands, ...command.commands.flatMap(({ commands }) => commands)])
    each.exitOverride().configureOutput({ writeErr: () => undefined })
  await command.parseAsync(args, { from: 'user' })
  return results[0] as CommandResult
}

describeOnEachDatabase('the audit log and the command line', (server, kind) => {
  const run = (create: (run: CommandRunner) => Command, ...args: string[]) =>
    runCommand(server(), create, args)
  const entries = () =>
    server().gateway.db.selectFrom('audit_entries').selectAll().orderBy('created_at').orderBy('seq').execute()

  describe('S12 R40 a command that changes records is recorded with the user of the operating system:', () => {
    const benchmark = join(folder, 'scores.json')
    const cases: [string, string[], (server: TestServer) => Promise<CommandResult>][] = [
      ['keys create', ['key.create'], () => run(keysCommand, 'create', '--name', 'k', '--limit', '5')],
      [
        'keys create --management',
        ['management_key.create'],
        () => run(keysCommand, 'create', '--name', 'm', '--management', '--permissions', 'keys:read'),
      ],
      ['keys revoke', ['key.delete'], async ({ call }) => revokeKey(call)],
      [
        'orgs create',
        ['organization.create', 'management_key.create'],
        () => run(organizationsCommand, 'create', '--name', 'New', '--owner-email', 'new@example.com'),
      ],
      ['credits grant', ['credits.grant'], () => run(creditsCommand, 'grant', '5')],
      [
        'limits create',
        ['limit.create'],
        () =>
          run(limitsCommand, 'create', '--name', 'l', '--measure', 'concurrent_requests', '--amount', '5'),
      ],
      ['tiers create', ['tier.create'], () => run(tiersCommand, 'create', '--name', 'free')],
      ['limits delete', ['limit.delete'], async () => deleteLimit()],
      ['tiers delete', ['tier.delete'], async () => deleteTier()],
      [
        'credits grant --kind purchase',
        ['credits.purchase'],
        () => run(creditsCommand, 'grant', '5', '--kind', 'purchase'),
      ],
      ['signin', ['signin_link.create'], () => run(signInCommand)],
      [
        'scim token create',
        ['scim_token.create'],
        () => run(scimCommand, 'token', 'create', '--name', 'Okta'),
      ],
      ['scim token revoke', ['scim_token.delete'], async () => revokeToken()],
      ['sso verify-domain', ['sso_domain.verify'], async ({ call }) => verifyDomain(call)],
      ['signing-key rotate', ['signing_key.rotate'], () => run(signingKeyCommand, 'rotate', '--revoke')],
      [
        'benchmark import',
        ['benchmark.import'],
        async () => {
          await Bun.write(benchmark, '[]')
          return run(benchmarkCommand, 'import', benchmark, '--source', 'artificial-analysis')
        },
      ],
      ['accept-journal-loss', ['journal.accept_loss'], () => run(acceptJournalLossCommand)],
    ]
    const revokeKey = async (call: TestServer['call']) => {
      const { hash } = (await call('POST', '/keys', { body: { name: 'old' } })).body.data
      return run(keysCommand, 'revoke', hash)
    }
    const revokeToken = async () => {
      const { value } = await run(scimCommand, 'token', 'create', '--name', 'old')
      return run(scimCommand, 'token', 'revoke', (value as { id: string }).id)
    }
    const deleteLimit = async () => {
      const options = ['--name', 'old', '--measure', 'requests', '--window', 'day', '--amount', '5']
      const { value } = await run(limitsCommand, 'create', ...options)
      return run(limitsCommand, 'delete', (value as { id: string }).id)
    }
    const deleteTier = async () => {
      await run(tiersCommand, 'create', '--name', 'old')
      return run(tiersCommand, 'delete', 'old')
    }
    const verifyDomain = async (call: TestServer['call']) => {
      await call('POST', '/organization/sso/domains', { body: { domain: 'company.test' } })
      return run(ssoCommand, 'verify-domain', 'company.test')
    }
    const onThisDatabase = cases.filter(([name]) => kind === 'sqlite' || name !== 'accept-journal-loss')

    test.each(onThisDatabase)('%s', async (_, actions, execute) => {
      const before = new Set((await entries()).map(({ id }) => id))
      const { value, text } = await execute(server())
      const added = (await entries()).filter(
        ({ id, actor_type }) => !before.has(id) && actor_type === 'command',
      )
      expect(added.map(({ action }) => action).filter((action) => actions.includes(action))).toEqual(actions)
      for (const entry of added) expect(entry).toMatchObject({ actor_name: userInfo().username, ip: null })
      const printed = `${JSON.stringify(value)} ${text}`
      const secrets = printed.match(/sk-hg-[\w-]{20,}|token=[\w-]{20,}|scim_[\w-]{20,}/g) ?? []
      for (const secret of secrets) {
        expect(JSON.stringify(added)).not.toContain(secret)
        expect(JSON.stringify(added.map(({ changes }) => changes))).not.toContain(sha256(secret))
      }
    })
  })

  describe('audit export', () => {
    const exportTo = (name: string, ...args: string[]) =>
      run(auditCommand, 'export', '--output', join(folder, `${kind}-${name}`), ...args)
    const read = (name: string) => readFileSync(join(folder, `${kind}-${name}`), 'utf8')
    const readLines = (name: string) =>
      read(name)
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line))

    test('writes all entries of an organization, newest first, to a file for its owner only', async () => {
      const { own } = server()
      const { value, text } = await exportTo('all.jsonl')
      const lines = readLines('all.jsonl')
      const stored = (await entries()).filter(({ chain_id }) => chain_id === own.organization.id)
      expect(lines.map(({ seq }) => seq)).toEqual(stored.map(({ seq }) => seq).toSorted((a, b) => b - a))
      expect(value).toMatchObject({ entries: lines.length })
      expect(text).toContain(`${lines.length} entries`)
      expect(statSync(join(folder, `${kind}-all.jsonl`)).mode & 0o777).toBe(0o600)
      // The export itself is recorded before it is written.
      expect(lines[0]).toMatchObject({ action: 'audit.export', actor: { type: 'command' } })
    })

    test('takes filters, CSV, another organization and the chain of the installation', async () => {
      const { foreign, call } = server()
      await call('POST', '/keys', { body: { name: 'theirs' }, key: foreign.managementKey })
      await exportTo('org.csv', '--format', 'csv', '--org', foreign.organization.id, '--action', 'key.create')
      const [header, ...rows] = read('org.csv').trim().split('\r\n')
      expect(header).toStartWith('created_at,chain_id,seq,id,action')
      expect(rows).toHaveLength(1)
      expect(rows[0]).toContain(`${foreign.organization.id},`)
      await run(signingKeyCommand, 'rotate')
      await exportTo('installation.jsonl', '--installation', '--action', 'signing_key.rotate')
      for (const line of readLines('installation.jsonl'))
        expect(line).toMatchObject({ chain: 'installation', action: 'signing_key.rotate' })
      await exportTo('future.jsonl', '--from', '2090-01-01T00:00:00Z')
      expect(read('future.jsonl')).toBe('')
    })

    test.each([
      ['an existing file', ['--output', '{existing}'], /cannot be written/],
      ['a folder that does not exist', ['--output', '{missing}'], /cannot be written/],
      ['both the installation and an organization', ['--installation', '--org', 'x'], /cannot be used with/],
      ['an unknown organization', ['--org', 'org_unknown'], /does not exist/],
      ['a time without a zone', ['--from', '2026-01-01'], /UTC time/],
      ['an unknown format', ['--format', 'xml'], /Allowed choices are csv, jsonl/],
    ])('refuses %s', async (_, args, message) => {
      const existing = join(folder, `${kind}-existing`)
      await Bun.write(existing, 'kept')
      const paths = { '{existing}': existing, '{missing}': join(folder, 'missing', 'x') }
      const filled = args.map((arg) => paths[arg as keyof typeof paths] ?? arg)
      const output = filled.includes('--output') ? [] : ['--output', join(folder, `${kind}-refused`)]
      await expect(run(auditCommand, 'export', ...filled, ...output)).rejects.toThrow(message)
      expect(readFileSync(existing, 'utf8')).toBe('kept')
    })
  })

  describe('S12 check-audit', () => {
    const check = (...args: string[]) => run(checkAuditCommand, ...args)
    const changeEntry = (seq: number, target_name: string | null) =>
      server()
        .gateway.db.updateTable('audit_entries')
        .set({ target_name })
        .where('chain_id', '=', server().foreign.organization.id)
        .where('seq', '=', seq)
        .execute()
    const take = (from: number) =>
      server()
        .gateway.db.deleteFrom('audit_entries')
        .where('chain_id', '=', server().foreign.organization.id)
        .where('seq', '>=', from)
        .returningAll()
        .execute()
    const restore = (rows: Awaited<ReturnType<typeof take>>) =>
      server().gateway.db.insertInto('audit_entries').values(rows).execute()

    test('an intact log, a changed entry, a removed one and a removed end', async () => {
      const { call, foreign } = server()
      for (let n = 0; n < 5; n++)
        await call('POST', '/keys', { body: { name: `key ${n}` }, key: foreign.managementKey })
      const id = foreign.organization.id
      const intact = await check()
      expect(intact).toMatchObject({ value: { sound: true } })
      const head = new RegExp(`${id}:\\d+:[\\w-]{43}`).exec(intact.text)?.[0] ?? ''
      expect((await check('--expect', head)).value).toMatchObject({ sound: true })

      const stored = (await entries()).filter(({ chain_id }) => chain_id === id)
      await changeEntry(2, 'other')
      await expect(check()).rejects.toThrow(/is broken[\s\S]*Entry 2 .* was changed/)
      await changeEntry(2, stored.find(({ seq }) => seq === 2)?.target_name ?? null)

      const [removed, ...rest] = (await take(3)).toSorted((a, b) => a.seq - b.seq)
      await restore(rest)
      await expect(check()).rejects.toThrow(`${id}: Entry 3 is missing; the next is 4`)
      await restore(removed ? [removed] : [])

      const last = Math.max(...stored.map(({ seq }) => seq))
      const end = await take(last)
      await expect(check()).rejects.toThrow(`Entry ${last} is missing; the head is entry ${last}`)
      await restore(end)
      expect((await check('--expect', head)).value).toMatchObject({ sound: true })

      const later = head.replace(/:\d+:/, `:${last + 1}:`)
      await expect(check('--expect', later)).rejects.toThrow(`before the expected entry ${last + 1}`)
      await expect(check('--expect', 'installation')).rejects.toThrow('chain:seq:hash')
    })

    test('compares the heads that the server noted beside the database, and those of other nodes', async () => {
      const { gateway } = server()
      expect((await check()).text).toContain('audit-heads.txt has no heads')
      await anchorAuditLog(gateway)
      expect((await check()).text).toContain('audit-heads.txt (1 heads compared)')
      const other = join(folder, `other-${kind}.txt`)
      await expect(check('--heads', other)).rejects.toThrow(`The file ${other} does not exist.`)
      await Bun.write(other, `2030-01-01T00:00:00Z anchors:9:${'x'.repeat(43)}\n`)
      await expect(check('--heads', other)).rejects.toThrow('before the expected entry 9')
      await Bun.write(other, 'nonsense\n')
      await expect(check('--heads', other)).rejects.toThrow(`Line 1 of ${other}`)
    })
  })

  test('S12 R40 the first start records what it creates, without secrets', async () => {
    const { own } = server()
    const [first = [], keys = [own.managementKey, own.inferenceKey]] = [
      (await entries()).filter(({ chain_id, seq }) => chain_id === own.organization.id && seq <= 5),
    ]
    expect(first.map(({ action }) => action)).toEqual([
      'organization.create',
      'management_key.create',
      'key.create',
      'credits.grant',
      'signin_link.create',
    ])
    for (const entry of first) expect(entry).toMatchObject({ actor_type: 'job', actor_name: 'server' })
    for (const secret of keys) expect(JSON.stringify(first)).not.toContain(secret)
  })
})
