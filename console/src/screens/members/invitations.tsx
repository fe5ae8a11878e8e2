import { Badge, Table, Text } from '@mantine/core'
import { keepPreviousData, useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { api, client, type Schemas } from '../../api/client.ts'
import { mayDoEverywhere, useSession } from '../../app/session.tsx'
import { ActionButton } from '../../components/action-button.tsx'
import { Pager } from '../../components/pager.tsx'
import { Panel } from '../../components/panel.tsx'
import { QueryView } from '../../components/query-view.tsx'
import { Time } from '../../components/time.tsx'
import { labelOfRole } from './organization-role.ts'

const pageSize = 20

type Invitation = Schemas['Invitation']

const colors: Record<Invitation['status'], string> = {
  open: 'blue',
  accepted: 'teal',
  revoked: 'gray',
  expired: 'gray',
}

export function invitationsOptions(offset: number) {
  return api.queryOptions('get', '/organization/invitations', {
    params: { query: { offset, limit: pageSize } },
  })
}

/** Everybody who was invited, and what became of it. */
export function Invitations() {
  const [offset, setOffset] = useState(0)
  const query = useQuery({ ...invitationsOptions(offset), placeholderData: keepPreviousData })
  return (
    <Panel title="Invitations" description="An open one lets its holder join until it expires.">
      <QueryView query={query}>
        {({ data, total_count }) => (
          <>
            {data.length === 0 ? (
              <Text size="sm">No invitations yet.</Text>
            ) : (
              <InvitationTable invitations={data} />
            )}
            <Pager offset={offset} size={pageSize} total={total_count} onChange={setOffset} />
          </>
        )}
      </QueryView>
    </Panel>
  )
}

function InvitationTable({ invitations }: { invitations: Invitation[] }) {
  return (
    <Table.ScrollContainer minWidth={560}>
      <Table>
        <Table.Thead>
          <Table.Tr>
            <Table.Th>E-mail address</Table.Th>
            <Table.Th>Role</Table.Th>
            <Table.Th>Status</Table.Th>
            <Table.Th>Expires</Table.Th>
            <Table.Th>Action</Table.Th>
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {invitations.map((invitation) => (
            <InvitationRow key={invitation.id} invitation={invitation} />
          ))}
        </Table.Tbody>
      </Table>
    </Table.ScrollContainer>
  )
}

function InvitationRow({ invitation }: { invitation: Invitation }) {
  const queryClient = useQueryClient()
  const { id, email, role, status, expires_at } = invitation
  const canRevoke = mayDoEverywhere(useSession(), 'members:write') && status === 'open'
  const revoke = async () => {
    await client.DELETE('/organization/invitations/{id}', { params: { path: { id } } })
    await queryClient.invalidateQueries({ queryKey: ['get', '/organization/invitations'] })
  }
  return (
    <Table.Tr>
      <Table.Td style={{ overflowWrap: 'anywhere' }}>{email}</Table.Td>
      <Table.Td>{labelOfRole(role)}</Table.Td>
      <Table.Td>
        <Badge variant="light" color={colors[status]} tt="none">
          {status}
        </Badge>
      </Table.Td>
      <Table.Td>
        <Time iso={expires_at} style="age" />
      </Table.Td>
      <Table.Td>
        {canRevoke && (
          <ActionButton label={`Revoke the invitation of ${email}`} onAction={revoke}>
            Revoke
          </ActionButton>
        )}
      </Table.Td>
    </Table.Tr>
  )
}
