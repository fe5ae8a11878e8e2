import { Command, InvalidArgumentError } from 'commander'
import type { Gateway } from '../gateway/gateway.ts'
import { lockOrganization } from '../identity/organizations.ts'
import { findDomainByName, setDomainVerified } from '../identity/sso-domains.ts'
import { GatewayError } from '../platform/errors/gateway-error.ts'
import { parseEmailDomain } from '../platform/validation/email-address.ts'
import {
  type CommandResult,
  type CommandRunner,
  type OrgOption,
  orgFlag,
  resolveOrganization,
  transactAsCommand,
  UsageError,
} from './command.ts'

export function ssoCommand(run: CommandRunner): Command {
  const sso = new Command('sso').description('manage single sign-on')
  sso
    .command('verify-domain')
    .description('confirm that an e-mail domain belongs to an organization, without DNS')
    .argument('<domain>', 'a domain that the organization has added', parseDomain)
    .option(...orgFlag)
    .action((domain: string, options: OrgOption) => run((gateway) => runVerify(gateway, domain, options)))
  return sso
}

function parseDomain(text: string): string {
  const domain = parseEmailDomain(text)
  if (domain === null) throw new InvalidArgumentError('It must be a domain such as example.com.')
  return domain
}

async function runVerify(gateway: Gateway, domain: string, options: OrgOption): Promise<CommandResult> {
  const organization = await resolveOrganization(gateway, options.org)
  await transactAsCommand(gateway, organization.id, async (tx, record) => {
    await lockOrganization(tx, organization.id)
    const before = await findDomainByName(tx, organization.id, domain)
    if (!before) throw new UsageError(`${organization.name} has not added ${domain}.`)
    const after = await setDomainVerified(tx, gateway.clock, before.id, 'operator')
    const target = { type: 'sso_domain', id: after.id, name: domain }
    record({ action: 'sso_domain.verify', target, before: { ...before }, after: { ...after } })
  }).catch((error: unknown) => {
    throw error instanceof GatewayError ? new UsageError(error.message) : error
  })
  const value = { domain, organization_id: organization.id, verified: true }
  return { value, text: `${domain} belongs to ${organization.name}.` }
}
