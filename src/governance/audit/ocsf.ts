import { version } from '../../platform/version.ts'
import type { AuditEntry } from './entry.ts'
import { toAuditRecord } from './record.ts'

/** Version of the Open Cybersecurity Schema Framework. */
const ocsfVersion = '1.8.0'

interface EventClass {
  uid: number
  name: string
  category: { uid: number; name: string }
  /** Activities by the verb of an action; any other verb is 99. */
  activities: Record<string, [id: number, name: string]>
}

const identity = { uid: 3, name: 'Identity & Access Management' }
const application = { uid: 6, name: 'Application Activity' }

const accountChange: EventClass = {
  uid: 3001,
  name: 'Account Change',
  category: identity,
  activities: {
    create: [1, 'Create'],
    enable: [2, 'Enable'],
    activate: [2, 'Enable'],
    disable: [5, 'Disable'],
    deactivate: [5, 'Disable'],
    delete: [6, 'Delete'],
  },
}
const authentication: EventClass = {
  uid: 3002,
  name: 'Authentication',
  category: identity,
  activities: { create: [1, 'Logon'], start: [1, 'Logon'], delete: [2, 'Logoff'], end: [2, 'Logoff'] },
}
const changes: EventClass['activities'] = {
  create: [1, 'Create'],
  read: [2, 'Read'],
  update: [3, 'Update'],
  delete: [4, 'Delete'],
}
const entityManagement: EventClass = {
  uid: 3004,
  name: 'Entity Management',
  category: identity,
  activities: changes,
}
const apiActivity: EventClass = {
  uid: 6003,
  name: 'API Activity',
  category: application,
  activities: { ...changes, open: [2, 'Read'], export: [2, 'Read'] },
}

/** Classes by the first part of an action; any other action changes an entity. */
const classes: Record<string, EventClass> = {
  member: accountChange,
  scim_user: accountChange,
  session: authentication,
  signin: authentication,
  operation: apiActivity,
  secret: apiActivity,
  content: apiActivity,
  audit: apiActivity,
}

/** Maximum length of changes: collectors reject or truncate large events, so longer ones are omitted. */
const maxChangesLength = 32 * 1024

/** An entry as an event that security products understand. */
export function toOcsfEvent(entry: AuditEntry) {
  const [subject = '', verb = ''] = entry.action.split('.')
  const eventClass = classes[subject] ?? entityManagement
  const [activity_id, activity_name] = eventClass.activities[verb] ?? ([99, verb] as const)
  const isSuccess = entry.outcome === 'success'
  return {
    class_uid: eventClass.uid,
    class_name: eventClass.name,
    category_uid: eventClass.category.uid,
    category_name: eventClass.category.name,
    activity_id,
    activity_name,
    type_uid: eventClass.uid * 100 + activity_id,
    time: Date.parse(entry.created_at),
    severity_id: isSuccess ? 1 : 2,
    severity: isSuccess ? 'Informational' : 'Low',
    status_id: isSuccess ? 1 : 2,
    status: isSuccess ? 'Success' : 'Failure',
    message: `${entry.actor_name ?? entry.actor_type}: ${entry.action} ${entry.target_name ?? entry.target_id}`,
    metadata: describeMetadata(entry),
    actor: { user: { uid: entry.actor_id ?? entry.actor_type, name: entry.actor_name ?? entry.actor_type } },
    src_endpoint: entry.ip === null ? { name: entry.actor_type } : { ip: entry.ip },
    ...(entry.request_id !== null && {
      http_request: {
        uid: entry.request_id,
        ...(entry.user_agent !== null && { user_agent: entry.user_agent }),
      },
    }),
    ...describeTarget(entry, eventClass),
    unmapped: describeRest(entry),
  }
}

function describeMetadata(entry: AuditEntry) {
  return {
    version: ocsfVersion,
    product: { name: 'Headgate', vendor_name: 'Headgate', version },
    uid: entry.id,
    event_code: entry.action,
    log_name: 'audit',
    tenant_uid: entry.chain_id,
    sequence: entry.seq,
    original_time: entry.created_at,
  }
}

function describeTarget(
  { target_id: uid, target_type: type, target_name, action }: AuditEntry,
  { uid: classUid }: EventClass,
) {
  const name = target_name ?? uid
  if (classUid === accountChange.uid) return { user: { uid, name } }
  if (classUid === authentication.uid) return { user: { uid, name }, service: { name: 'Headgate' } }
  if (classUid === entityManagement.uid) return { entity: { uid, name, type } }
  return { api: { operation: type === 'operation' ? uid : action }, resources: [{ uid, name, type }] }
}

function describeRest(entry: AuditEntry) {
  const isLong = (entry.changes?.length ?? 0) > maxChangesLength
  return {
    actor_type: entry.actor_type,
    target_type: entry.target_type,
    workspace_id: entry.workspace_id,
    changes: isLong ? null : toAuditRecord(entry).changes,
    ...(isLong && { changes_omitted: true }),
    previous_hash: entry.previous_hash,
    hash: entry.hash,
  }
}
