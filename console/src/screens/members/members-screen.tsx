import { Badge, Text } from '@mantine/core'
import { keepPreviousData, useQuery } from '@tanstack/react-query'
import { createLazyRoute } from '@tanstack/react-router'
import { callOf } from '../../api/call.ts'
import { api, type Schemas } from '../../api/client.ts'
import { writeOffset, writeText } from '../../app/search-params.ts'
import { mayDoEverywhere, useSession } from '../../app/session.tsx'
import { Id } from '../../components/copy.tsx'
import { DataTable } from '../../components/data-table.tsx'
import { DialogButton } from '../../components/dialog-button.tsx'
import { EmptyState } from '../../components/empty-state.tsx'
import { Page } from '../../components/page.tsx'
import { PagedList } from '../../components/paged-list.tsx'
import { SavedViews } from '../../components/saved-views.tsx'
import { NothingFound, SearchField } from '../../components/search-field.tsx'
import { TextLink } from '../../components/text-link.tsx'
import { nameOfPerson } from '../../format/person.ts'
import { Invitations, invitationsOptions } from './invitations.tsx'
import { InviteDialog } from './invite-dialog.tsx'
import { labelOfRole } from './organization-role.ts'

export const screen = createLazyRoute('/members')({ component: MembersScreen })

const pageSize = 50

function MembersScreen() {
  const session = useSession()
  const { offset = 0, q = '' } = screen.useSearch()
  const navigate = screen.useNavigate()
  const options = api.queryOptions('get', '/organization/members', {
    params: { query: { offset, limit: pageSize, ...writeText(q) } },
  })
  const query = useQuery({ ...options, placeholderData: keepPreviousData })
  const readsAll = mayDoEverywhere(session, 'members:read')
  return (
    <Page
      title="Members"
      description="The people of your organization, and who is invited. What somebody may do comes from their roles and workspaces."
      calls={[callOf(options), ...(readsAll ? [callOf(invitationsOptions(0))] : [])]}
      actions={
        <>
          <SavedViews screen="members" />
          {mayDoEverywhere(session, 'members:write') && (
            <DialogButton label="Invite a person">{(close) => <InviteDialog onClose={close} />}</DialogButton>
          )}
        </>
      }
    >
      <SearchField
        label="Search names and addresses"
        value={q}
        onChange={(text) => void navigate({ search: writeText(text) })}
      />
      <PagedList
        query={query}
        offset={offset}
        size={pageSize}
        onPage={(next) => void navigate({ search: { ...writeText(q), ...writeOffset(next) } })}
        empty={
          q === '' ? (
            <EmptyState title="No members on this page">
              <TextLink to="/members">Go to the first page</TextLink>
            </EmptyState>
          ) : (
            <NothingFound text={q} />
          )
        }
      >
        {(rows) => <MemberTable members={rows} hasDetails={readsAll} />}
      </PagedList>
      {readsAll && <Invitations />}
    </Page>
  )
}

interface MemberTableProps {
  members: Schemas['OrganizationMember'][]
  /** Whether the viewer can open members; false if they see the members of some workspaces only. */
  hasDetails: boolean
}

function MemberTable({ members, hasDetails }: MemberTableProps) {
  const { member: self } = useSession()
  return (
    <DataTable
      rows={members}
      keyOf={({ id }) => id}
      minWidth={560}
      columns={[
        {
          header: 'Name',
          breaksWords: true,
          render: (member) => (
            <>
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
            </>
          ),
        },
        {
          header: 'Role',
          render: ({ role }) => (
            <Badge variant="light" color={role === 'org:admin' ? 'indigo' : 'gray'} tt="none">
              {labelOfRole(role)}
            </Badge>
          ),
        },
        { header: 'Id', render: ({ id }) => <Id value={id} /> },
      ]}
    />
  )
}
