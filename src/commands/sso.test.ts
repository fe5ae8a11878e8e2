import { expect, test } from 'bun:test'
import { describeOnEachDatabase } from '../../test/support/harness.ts'
import { findVerifiedDomain } from '../identity/sign-in-rules.ts'
import { UsageError } from './command.ts'
import { ssoCommand } from './sso.ts'

describeOnEachDatabase('sso verify-domain', (server) => {
  const run = async (...args: string[]) => {
    const texts: string[] = []
    const command = ssoCommand(async (work) => void texts.push((await work(server().gateway)).text))
    await command.parseAsync(['verify-domain', ...args], { from: 'user' })
    return texts.join('\n')
  }
  const add = (domain: string, key: string) =>
    server().call('POST', '/organization/sso/domains', { key, body: { domain } })

  test('the operator confirms a domain that an organization has added', async () => {
    const { own, foreign, gateway } = server()
    await expect(run('company.test')).rejects.toThrow(UsageError)
    await add('company.test', own.managementKey)
    await add('company.test', foreign.managementKey)
    expect(await run('Company.TEST', '--org', foreign.organization.id)).toContain('Somebody else')
    const verified = await findVerifiedDomain(gateway.db, 'company.test')
    expect(verified).toMatchObject({ organization_id: foreign.organization.id, verified_by: 'operator' })
    await expect(run('company.test')).rejects.toThrow('another organization')
    const entries = await gateway.db.selectFrom('audit_entries').selectAll().execute()
    expect(entries.at(-1)).toMatchObject({ action: 'sso_domain.verify', actor_type: 'command' })
  })
})
