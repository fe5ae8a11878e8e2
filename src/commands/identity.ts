import { existsSync, readFileSync } from 'node:fs'
import { Command } from 'commander'
import { buildSignInUrl, resolveSiteUrl } from '../access/site-url.ts'
import { siteFilePath } from '../gateway/data-dir.ts'
import type { Gateway } from '../gateway/gateway.ts'
import { displayNameOf, emailOf, findFirstAdmin, findMemberByEmail } from '../identity/members.ts'
import { createScimToken, deleteScimToken, listScimTokens, type ScimToken } from '../identity/scim-tokens.ts'
import { createSignInToken } from '../identity/sessions.ts'
import {
  type CommandResult,
  type CommandRunner,
  type OrgOption,
  orgFlag,
  parseName,
  resolveOrganization,
  transactAsCommand,
  UsageError,
} from './command.ts'

interface SignInOptions extends OrgOption {
  email?: string
}

export function signInCommand(run: CommandRunner): Command {
  return new Command('signin')
    .description('print a one-time sign-in link for a member')
    .option('--email <email>', 'email of the member (default: the first admin of the organization)')
    .option(...orgFlag)
    .action((options: SignInOptions) => run((gateway) => runSignIn(gateway, options)))
}

export function scimCommand(run: CommandRunner): Command {
  const scim = new Command('scim').description('manage SCIM provisioning by an identity provider')
  const tokens = scim
    .command('token')
    .description('create, list and revoke the SCIM tokens of identity providers')
  tokens
    .command('create')
    .description('create a token and print it (it is shown only once)')
    .requiredOption('--name <name>', 'name of the token, such as the identity provider', parseName)
    .option(...orgFlag)
    .action((options: OrgOption & { name: string }) => run((gateway) => runCreateToken(gateway, options)))
  tokens
    .command('list')
    .description('list the tokens of an organization')
    .option(...orgFlag)
    .action((options: OrgOption) => run((gateway) => runListTokens(gateway, options)))
  tokens
    .command('revoke')
    .description('revoke a token permanently, by its id')
    .argument('<id>')
    .option(...orgFlag)
    .action((id: string, options: OrgOption) => run((gateway) => runRevokeToken(gateway, id, options)))
  return scim
}

async function runSignIn(gateway: Gateway, options: SignInOptions): Promise<CommandResult> {
  const organization = await resolveOrganization(gateway, options.org)
  const member = options.email
    ? await findMemberByEmail(gateway.db, organization.id, options.email)
    : await findFirstAdmin(gateway.db, organization.id)
  if (!member) throw new UsageError('The member does not exist. Check --email and --org.')
  const token = await transactAsCommand(gateway, organization.id, async (tx, record) => {
    const target = { type: 'member', id: member.id, name: displayNameOf(member) }
    record({ action: 'signin_link.create', target })
    return createSignInToken(tx, gateway.clock, member.id)
  })
  const url = buildSignInUrl(findSiteUrl(gateway), token)
  return {
    value: { url, email: emailOf(member) },
    text: `Sign in as ${displayNameOf(member)} (valid once, for one hour):\n${url}`,
  }
}

/** The URL the server last listened on; before its first start, the one it is going to listen on. */
function findSiteUrl(gateway: Gateway): string {
  const file = siteFilePath(gateway.config.dataDir)
  if (existsSync(file)) return readFileSync(file, 'utf8')
  return resolveSiteUrl({ ...gateway, port: gateway.config.port })
}

async function runCreateToken(
  gateway: Gateway,
  options: OrgOption & { name: string },
): Promise<CommandResult> {
  const organization = await resolveOrganization(gateway, options.org)
  const newToken = { organizationId: organization.id, name: options.name }
  const { token, secret } = await transactAsCommand(gateway, organization.id, async (tx, record) => {
    const created = await createScimToken(tx, gateway.clock, newToken)
    record({ action: 'scim_token.create', target: targetOf(created.token), after: created.token })
    return created
  })
  return {
    value: { token: secret, id: token.id, name: token.name },
    text: `${secret}\nThis token is shown only once. Id: ${token.id}`,
  }
}

function targetOf({ id, name }: ScimToken) {
  return { type: 'scim_token', id, name }
}

async function runListTokens(gateway: Gateway, options: OrgOption): Promise<CommandResult> {
  const organization = await resolveOrganization(gateway, options.org)
  const { rows } = await listScimTokens(gateway.db, organization.id, { offset: 0, limit: 1000 })
  const value = rows.map(({ id, label, name, created_at }) => ({ id, label, name, created_at }))
  return {
    value,
    text: value.map((row) => [row.id, row.label, row.name].join('  ')).join('\n') || 'No tokens.',
  }
}

async function runRevokeToken(gateway: Gateway, id: string, options: OrgOption): Promise<CommandResult> {
  const organization = await resolveOrganization(gateway, options.org)
  const token = await transactAsCommand(gateway, organization.id, async (tx, record) => {
    const deleted = await deleteScimToken(tx, organization.id, id.toLowerCase())
    if (deleted) record({ action: 'scim_token.delete', target: targetOf(deleted), before: deleted })
    return deleted
  })
  if (!token) throw new UsageError('The token does not exist. Run "scim token list" to see the ids.')
  return { value: { revoked: token.id }, text: `Revoked ${token.label} (${token.name}).` }
}
