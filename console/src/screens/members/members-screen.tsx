import { Badge, Button, Table, Text } from '@mantine/core'
import { keepPreviousData, useQuery } from '@tanstack/react-query'
import { createLazyRoute } from '@tanstack/react-router'
import { useState } from 'react'
import { callOf } from '../../api/call.ts'
import { api, type Schemas } from '../../api/client.ts'
import { mayDoEverywhere, useSession } from '../../app/session.tsx'
import { Id } from '../../components/copy.tsx'
import { EmptyState } from '../../components/empty-state.tsx'
import { Page } from '../../components/page.tsx'
import { Pager } from '../../components/pager.tsx'
import { QueryView } from '../../components/query-view.tsx'
import { TextLink } from '../../components/text-link.tsx'
import { nameOfPerson } from '../../format/person.ts'
import { Invitations, invitationsOptions } from './invitations.tsx'
import { InvitationLink, type Invited, InviteForm } from './invite-dialog.tsx'
import { labelOfRole } from './organization-role.ts'

export const screen = createLazyRoute('/members')({ component: MembersScreen })

const pageSize = 50

function MembersScreen() {
  const session = useSession()
  const { offset = 0 } = screen.useSearch()
  const navigate = screen.useNavigate()
  const [isInviting, setInviting] = useState(false)
  const [invited, setInvited] = useState<Invited | null>(null)
  const options = api.queryOptions('get', '/organization/members', {
    params: { query: { offset, limit: pageSize } },
  })
  const query = useQuery({ ...options, placeholderData: keepPreviousData })
  const readsAll = mayDoEverywhere(session, 'members:read')
  return (
    <Page
      title="Members"
      description="The people of your organization, and who is invited. What somebody may do comes from their roles and workspaces."
      calls={[callOf(options), ...(readsAll ? [callOf(invitationsOptions(0))] : [])]}
      actions={
        mayDoEverywhere(session, 'members:write') && (
          <Button size="xs" onClick={() => setInviting(true)}>
            Invite a person
          </Button>
        )
      }
    >
      <QueryView query={query}>
        {({ data, total_count }) => (
          <>
            {data.length === 0 ? (
              <EmptyState title="No members on this page">
                <TextLink to="/members">Go to the first page</TextLink>
              </EmptyState>
            ) : (
              <MemberTable members={data} hasDetails={readsAll} />
            )}
            <Pager
              offset={offset}
              size={pageSize}
              total={total_count}
              onChange={(next) => void navigate({ search: next > 0 ? { offset: next } : {} })}
            />
          </>
        )}
      </QueryView>
      {readsAll && <Invitations />}
      {isInviting && <InviteForm onInvited={setInvited} onClose={() => setInviting(false)} />}
      {invited && <InvitationLink invited={invited} onClose={() => setInvited(null)} />}
    </Page>
  )
}

interface MemberTableProps {
  members: Schemas['OrganizationMember'][]
  /** Not so for those who see the members of some workspaces only. */
  hasDetails: boolean
}

function MemberTable({ members, hasDetails }: MemberTableProps) {
  const { member: self } = useSession()
  return (
    <Table.ScrollContainer minWidth={560}>
      <Table highlightOnHover>
        <Table.Thead>
          <Table.Tr>
            <Table.Th>Name</Table.Th>
            <Table.Th>Role</Table.Th>
            <Table.Th>Id</Table.Th>
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {members.map((member) => (
            <Table.Tr key={member.id}>
              <Table.Td style={{ overflowWrap: 'anywhere' }}>
                {hasDetails ? (
                  <TextLink to="/members/$id" params={{ id: member.id }}>
                    {nameOfPerson(member)}
                  </TextLink>
                ) : (
                  nameOfPerson(member)
                )}
                {member.id === self.id && ' (you)'}
                <Text size="xs" c="dimmed">
                  {member.email || 'No e-mail address'}
                </Text>
              </Table.Td>
              <Table.Td>
                <Badge variant="light" color={member.role === 'org:admin' ? 'indigo' : 'gray'} tt="none">
                  {labelOfRole(member.role)}
                </Badge>
              </Table.Td>
              <Table.Td>
                <Id value={member.id} />
              </Table.Td>
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
    </Table.ScrollContainer>
  )
}
