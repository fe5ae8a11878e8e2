import { Badge } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { createLazyRoute, useNavigate } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import { callOf } from '../../api/call.ts'
import { api, client, type Schemas } from '../../api/client.ts'
import { useRefresh } from '../../api/use-refresh.ts'
import { mayDo, mayDoEverywhere, mayDoIn, useSession } from '../../app/session.tsx'
import { useWorkspace } from '../../app/workspace.tsx'
import { Id } from '../../components/copy.tsx'
import { DangerPanel } from '../../components/danger-panel.tsx'
import { DialogButton } from '../../components/dialog-button.tsx'
import { Fields } from '../../components/fields.tsx'
import { NodeSpending, spendingOptions } from '../../components/node-spending.tsx'
import { Page } from '../../components/page.tsx'
import { Panel } from '../../components/panel.tsx'
import { QueryView } from '../../components/query-view.tsx'
import { TextLink } from '../../components/text-link.tsx'
import { nameOfPerson } from '../../format/person.ts'
import { AdditionalRoles, assignmentsOptions } from './additional-roles.tsx'
import { EditMember } from './edit-member.tsx'
import { MemberKeys, memberKeysOptions } from './member-keys.tsx'
import { MemberLimit } from './member-limit.tsx'
import { MemberSessions, sessionsOptions } from './member-sessions.tsx'
import { labelOfRole } from './organization-role.ts'

export const screen = createLazyRoute('/members/$id')({ component: MemberScreen })

function MemberScreen() {
  const session = useSession()
  const { id } = screen.useParams()
  const options = api.queryOptions('get', '/organization/members/{id}', { params: { path: { id } } })
  const query = useQuery(options)
  const seesKeys = mayDo(session, 'keys:read')
  const seesRoles = mayDo(session, 'roles:read')
  const seesSessions = mayDoEverywhere(session, 'sessions:read')
  const { current: workspace } = useWorkspace()
  const spending =
    workspace && mayDoIn(session, workspace.id, 'budgets:read') ? `member:${workspace.id}:${id}` : null
  const calls = [
    callOf(options),
    ...(seesKeys ? [callOf(memberKeysOptions(id))] : []),
    ...(spending ? [callOf(spendingOptions(spending))] : []),
    ...(seesRoles ? [callOf(assignmentsOptions(id))] : []),
    ...(seesSessions ? [callOf(sessionsOptions(id))] : []),
  ]
  return (
    <Page
      title={query.data ? nameOfPerson(query.data.data) : 'Member'}
      description={<TextLink to="/members">All members</TextLink>}
      calls={calls}
    >
      <QueryView query={query}>{({ data }) => <Profile member={data} />}</QueryView>
      {query.data && seesKeys && <MemberKeys id={id} name={nameOfPerson(query.data.data)} />}
      {query.data && <MemberLimit member={query.data.data} />}
      {query.data && spending && (
        <NodeSpending
          nodeId={spending}
          title={`Spending in ${workspace?.name}`}
          missing="No membership and no keys in this workspace."
        />
      )}
      {query.data && seesRoles && <AdditionalRoles memberId={id} />}
      {query.data && seesSessions && <MemberSessions memberId={id} name={nameOfPerson(query.data.data)} />}
      {query.data && mayDoEverywhere(session, 'members:write') && <Removal member={query.data.data} />}
    </Page>
  )
}

function Profile({ member }: { member: Schemas['OrganizationMember'] }) {
  const session = useSession()
  return (
    <Panel
      title="Profile"
      actions={
        mayDoEverywhere(session, 'members:write') && (
          <DialogButton label="Change name or role" variant="default">
            {(close) => <EditMember member={member} onClose={close} />}
          </DialogButton>
        )
      }
    >
      <Fields
        fields={[
          ['E-mail address', member.email || 'none'],
          [
            'Role',
            <Badge key="role" variant="light" tt="none">
              {labelOfRole(member.role)}
            </Badge>,
          ],
          ['Id', <Id key="id" value={member.id} />],
          ...auditField(member.id, mayDoEverywhere(session, 'audit:read')),
        ]}
      />
    </Panel>
  )
}

function auditField(id: string, isVisible: boolean): [string, ReactNode][] {
  if (!isVisible) return []
  const link = (
    <TextLink key="audit" to="/audit" search={{ actor_id: id }}>
      What this person changed
    </TextLink>
  )
  return [['Audit log', link]]
}

function Removal({ member }: { member: Schemas['OrganizationMember'] }) {
  const refresh = useRefresh()
  const navigate = useNavigate()
  const { id, email } = member
  const remove = async () => {
    await client.DELETE('/organization/members/{id}', { params: { path: { id } } })
    await navigate({ to: '/members' })
    await refresh('/organization/members')
  }
  return (
    <DangerPanel
      title="Remove from the organization"
      description="They are signed out, and the inference keys that they created are disabled. Applications with these keys stop working."
      action="Remove"
      name={email || id}
      onConfirm={remove}
    >
      {nameOfPerson(member)} loses access at once. The inference keys that they created are disabled.
    </DangerPanel>
  )
}
