import { existsSync, readFileSync } from 'node:fs'
import { Command } from 'commander'
import { addressOf, displayNameOf, findMemberByEmail, firstAdmin } from '../account/members.ts'
import { createScimToken, deleteScimToken, listScimTokens } from '../account/scim-tokens.ts'
import { createSigninToken } from '../account/sessions.ts'
import { siteFile } from '../data-dir.ts'
import type { Gateway } from '../gateway.ts'
import { signinUrl, siteUrl } from '../welcome.ts'
import {
  nameArgument,
  type OrgOption,
  organizationOf,
  orgFlag,
  type Result,
  type Run,
  UsageError,
} from './command.ts'

interface SigninOptions extends OrgOption {
  email?: string
}

export function signinCommand(run: Run): Command {
  return new Command('signin')
    .description('print a one-time link that signs a member in with the browser')
    .option('--email <email>', 'which member; default: the first admin of the organization')
    .option(...orgFlag)
    .action((options: SigninOptions) => run((gateway) => signin(gateway, options)))
}

export function scimCommand(run: Run): Command {
  const scim = new Command('scim').description('provisioning by an identity provider')
  const tokens = scim
    .command('token')
    .description('make, list and revoke the tokens identity providers push with')
  tokens
    .command('create')
    .description('create a token and print it, once')
    .requiredOption('--name <name>', 'which identity provider it is for', nameArgument)
    .option(...orgFlag)
    .action((options: OrgOption & { name: string }) => run((gateway) => createToken(gateway, options)))
  tokens
    .command('list')
    .description('list the tokens of an organization')
    .option(...orgFlag)
    .action((options: OrgOption) => run((gateway) => listTokens(gateway, options)))
  tokens
    .command('revoke')
    .description('delete a token for good, by its id')
    .argument('<id>')
    .option(...orgFlag)
    .action((id: string, options: OrgOption) => run((gateway) => revokeToken(gateway, id, options)))
  return scim
}

async function signin(gateway: Gateway, options: SigninOptions): Promise<Result> {
  const organization = await organizationOf(gateway, options.org)
  const member = options.email
    ? await findMemberByEmail(gateway.db, organization.id, options.email)
    : await firstAdmin(gateway.db, organization.id)
  if (!member) throw new UsageError('There is no such member.')
  const token = await createSigninToken(gateway.db, gateway.clock, member.id)
  const url = signinUrl(runningSite(gateway), token)
  return {
    value: { url, email: addressOf(member) },
    text: `Sign in as ${displayNameOf(member)} (works once, within the hour):\n${url}`,
  }
}

/** Where the server last said it listens; before its first start, where it would. */
function runningSite(gateway: Gateway): string {
  const file = siteFile(gateway.config.dataDir)
  if (existsSync(file)) return readFileSync(file, 'utf8')
  return siteUrl({ ...gateway, port: gateway.config.port })
}

async function createToken(gateway: Gateway, options: OrgOption & { name: string }): Promise<Result> {
  const organization = await organizationOf(gateway, options.org)
  const wanted = { organizationId: organization.id, name: options.name }
  const { token, secret } = await createScimToken(gateway.db, gateway.clock, wanted)
  return {
    value: { token: secret, id: token.id, name: token.name },
    text: `${secret}\nShown this once. Id: ${token.id}`,
  }
}

async function listTokens(gateway: Gateway, options: OrgOption): Promise<Result> {
  const organization = await organizationOf(gateway, options.org)
  const { rows } = await listScimTokens(gateway.db, organization.id, { offset: 0, limit: 1000 })
  const value = rows.map(({ id, label, name, created_at }) => ({ id, label, name, created_at }))
  return {
    value,
    text: value.map((row) => [row.id, row.label, row.name].join('  ')).join('\n') || 'No tokens.',
  }
}

async function revokeToken(gateway: Gateway, id: string, options: OrgOption): Promise<Result> {
  const organization = await organizationOf(gateway, options.org)
  const token = await deleteScimToken(gateway.db, organization.id, id.toLowerCase())
  if (!token) throw new UsageError('There is no such token.')
  return { value: { revoked: token.id }, text: `Revoked ${token.label} (${token.name}).` }
}
