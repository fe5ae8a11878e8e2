import { Badge, Text } from '@mantine/core'
import { keepPreviousData, useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { api, client, type Schemas } from '../../api/client.ts'
import { useRefresh } from '../../api/use-refresh.ts'
import { mayDoEverywhere, useSession } from '../../app/session.tsx'
import { ActionButton } from '../../components/action-button.tsx'
import { DataTable } from '../../components/data-table.tsx'
import { PagedList } from '../../components/paged-list.tsx'
import { Panel } from '../../components/panel.tsx'
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
    <Panel title="Invitations" description="Anyone with an open invitation can join until it expires.">
      <PagedList
        query={query}
        offset={offset}
        size={pageSize}
        onPage={setOffset}
        empty={<Text size="sm">No invitations yet.</Text>}
      >
        {(rows) => <InvitationTable invitations={rows} />}
      </PagedList>
    </Panel>
  )
}

function InvitationTable({ invitations }: { invitations: Invitation[] }) {
  const refresh = useRefresh()
  const mayRevoke = mayDoEverywhere(useSession(), 'members:write')
  const revoke = async (id: string) => {
    await client.DELETE('/organization/invitations/{id}', { params: { path: { id } } })
    await refresh('/organization/invitations')
  }
  return (
    <DataTable
      rows={invitations}
      keyOf={({ id }) => id}
      minWidth={560}
      columns={[
        { header: 'E-mail address', breaksWords: true, render: ({ email }) => email },
        { header: 'Role', render: ({ role }) => labelOfRole(role) },
        {
          header: 'Status',
          render: ({ status }) => (
            <Badge variant="light" color={colors[status]} tt="none">
              {status}
            </Badge>
          ),
        },
        { header: 'Expires', render: ({ expires_at }) => <Time iso={expires_at} style="age" /> },
        mayRevoke && {
          header: 'Action',
          isHeaderHidden: true,
          render: ({ id, email, status }) =>
            status === 'open' && (
              <ActionButton label={`Revoke the invitation of ${email}`} onAction={() => revoke(id)}>
                Revoke
              </ActionButton>
            ),
        },
      ]}
    />
  )
}
