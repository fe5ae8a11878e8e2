/** The nouns of objects whose type does not read as one. */
const nouns: Record<string, string> = {
  key: 'API key',
  byok_key: 'provider key',
  totp: 'authenticator app',
  signin_link: 'sign-in link',
  sso_connection: 'single sign-on connection',
  sso_domain: 'single sign-on domain',
  sso_identity: 'single sign-on identity',
  sso_policy: 'single sign-on policy',
  scim_token: 'SCIM token',
  scim_group: 'SCIM group',
  scim_mapping: 'SCIM mapping',
  scim_sync_job: 'SCIM sync job',
  privacy: 'privacy settings',
  credits: 'credits',
  workspace_member: 'workspace member',
  catalogue_provider: 'provider',
  catalogue_model: 'model',
  catalogue_endpoint: 'endpoint',
  end_user: 'end user',
  managed_record: 'record',
}

/** `guardrail`, `provider key` */
export function nounOf(type: string): string {
  return nouns[type] ?? type.replaceAll('_', ' ')
}

/** Types that can be chosen as a filter, the most common ones first. */
export const targetTypes = [
  ...['key', 'limit', 'tier', 'budget', 'guardrail', 'member', 'workspace', 'workspace_member', 'role'],
  ...['role_assignment', 'invitation', 'management_key', 'byok_key', 'model_alias', 'routing_rule', 'preset'],
  ...['organization', 'privacy', 'credits', 'destination', 'notification_rule', 'audit_destination'],
  ...['sso_connection', 'sso_domain', 'sso_policy', 'scim_token', 'scim_mapping', 'workload_issuer'],
  ...['workload_policy', 'session', 'passkey', 'password', 'totp', 'end_user', 'file', 'generation'],
]

/** What was done, for actions whose verb does not say it. `{}` is the object. */
const phrases: Record<string, string> = {
  'operation.refuse': 'was refused {}',
  'session.create': 'signed in',
  'session.delete': 'ended {}',
  'content.read': 'read the stored content of {}',
  'secret.open': 'used the secret of {}',
  'audit.export': 'downloaded the audit log',
  'key.rotate': 'rotated {}',
  'guardrail.assign': 'assigned {}',
  'guardrail.unassign': 'removed the assignment of {}',
  'invitation.create': 'invited {}',
  'invitation.accept': 'accepted {}',
  'invitation.revoke': 'revoked {}',
  'credits.grant': 'added credits to {}',
  'end_user.erase': 'began to erase the data of {}',
  'end_user.erased': 'erased the data of {}',
  'sso_domain.verify': 'verified {}',
  'backup.create': 'made a backup',
  'backup.restore': 'restored a backup',
  'ledger.check': 'checked the ledger',
  'app.authorize': 'authorized {}',
  'totp.confirm': 'confirmed {}',
  'recovery_code.use': 'used a recovery code',
  'server.start': 'started the server',
  'server.stop': 'stopped the server',
  'settings.reload': 'reloaded the settings',
  'configuration.manage': 'declared {} in configuration files',
  'configuration.release': 'stopped declaring {} in configuration files',
}

const verbs: Record<string, string> = {
  create: 'created',
  update: 'changed',
  delete: 'deleted',
  put: 'saved',
  pause: 'paused',
  resume: 'resumed',
  redeliver: 'sent again the failed events of',
  import: 'imported',
  run: 'ran',
}

/** `created {}`: what an action does with its object. */
export function phraseOf(action: string): string {
  const verb = action.slice(action.indexOf('.') + 1)
  return phrases[action] ?? `${verbs[verb] ?? verb.replaceAll('_', ' ')} {}`
}

/** Actions that can be chosen as a filter. */
export function listActions(): { value: string; label: string }[] {
  const changes = targetTypes
    .filter((type) => type !== 'session' && type !== 'generation')
    .flatMap((type) => ['create', 'update', 'delete'].map((verb) => `${type}.${verb}`))
  return [...new Set([...changes, ...Object.keys(phrases)])].map((value) => ({
    value,
    label: describeAction(value),
  }))
}

/** `Changed guardrail` */
export function describeAction(action: string): string {
  const text = phraseOf(action).replace('{}', nounOf(action.slice(0, action.indexOf('.'))))
  return text.charAt(0).toUpperCase() + text.slice(1)
}
