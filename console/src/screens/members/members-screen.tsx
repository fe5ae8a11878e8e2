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
import { workspaceField } from '../../components/filter-fields.ts'
import type { Filters } from '../../components/filter-query.ts'
import { Page } from '../../components/page.tsx'
import { PagedList } from '../../components/paged-list.tsx'
import { SavedViews } from '../../components/saved-views.tsx'
import { ScreenFilters } from '../../components/screen-filters.tsx'
import { NothingFound } from '../../components/search-field.tsx'
import { TextLink } from '../../components/text-link.tsx'
import { nameOfPerson } from '../../format/person.ts'
import { Invitations, invitationsOptions } from './invitations.tsx'
import { InviteDialog } from './invite-dialog.tsx'
import { labelOfRole } from './organization-role.ts'
import type { MembersSearch } from './route.ts'

export const screen = createLazyRoute('/members')({ component: MembersScreen })

const pageSize = 50

const roleNames = { 'org:admin': 'admin', 'org:member': 'member' } as const

const fields = {
  values: [
    { name: 'role', parameter: 'role', values: Object.values(roleNames), hint: 'In the organization' },
    { ...workspaceField, hint: 'Members of a workspace' },
  ],
  text: 'q',
}

function toSearch({ q = '', role, workspace_id }: Filters): MembersSearch {
  return {
    ...writeText(q),
    ...(role !== undefined && { role: role === 'admin' ? 'org:admin' : 'org:member' }),
    ...(workspace_id !== undefined && { workspace_id }),
  }
}

function MembersScreen() {
  const session = useSession()
  const { offset = 0, ...search } = screen.useSearch()
  const { q = '', role, workspace_id } = search
  const navigate = screen.useNavigate()
  const options = api.queryOptions('get', '/organization/members', {
    params: { query: { offset, limit: pageSize, ...search } },
  })
  const query = useQuery({ ...options, placeholderData: keepPreviousData })
  const readsAll = mayDoEverywhere(session, 'members:read')
  return (
    <Page
      title="Members"
      docs="sign-in#invite-people"
      description="The people of your organization, and who is invited. What somebody may do comes from their roles and workspaces."
      calls={[callOf(options), ...(readsAll ? [callOf(invitationsOptions(0))] : [])]}
      actions={
        <>
          <SavedViews screen="members" />
          {mayDoEverywhere(session, 'members:write') && (
            <DialogButton label="Invite a person" action="invite">
              {(close) => <InviteDialog onClose={close} />}
            </DialogButton>
          )}
        </>
      }
    >
      <ScreenFilters
        label="Search members"
        placeholder="Name or address, role:admin, workspace:Research"
        fields={fields}
        filters={{ q: q || undefined, role: role && roleNames[role], workspace_id }}
        onChange={(next) => void navigate({ search: toSearch(next) })}
      />
      <PagedList
        query={query}
        offset={offset}
        size={pageSize}
        onPage={(next) => void navigate({ search: { ...search, ...writeOffset(next) } })}
        empty={
          Object.keys(search).length === 0 ? (
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
