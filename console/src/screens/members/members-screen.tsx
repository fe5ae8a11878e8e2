import { Badge, Text } from '@mantine/core'
import { keepPreviousData, useQuery } from '@tanstack/react-query'
import { createLazyRoute } from '@tanstack/react-router'
import { Fragment } from 'react'
import { callOf } from '../../api/call.ts'
import { api, type Schemas } from '../../api/client.ts'
import { writeOffset, writeText } from '../../app/search-params.ts'
import { mayDoEverywhere, useSession } from '../../app/session.tsx'
import { DataTable } from '../../components/data-table.tsx'
import { DialogButton } from '../../components/dialog-button.tsx'
import { EmptyState } from '../../components/empty-state.tsx'
import { workspaceField } from '../../components/filter-fields.ts'
import type { Filters } from '../../components/filter-query.ts'
import { Money } from '../../components/money.tsx'
import { Page } from '../../components/page.tsx'
import { PagedList } from '../../components/paged-list.tsx'
import { SavedViews } from '../../components/saved-views.tsx'
import { ScreenFilters } from '../../components/screen-filters.tsx'
import { NothingFound } from '../../components/search-field.tsx'
import { TextLink } from '../../components/text-link.tsx'
import { Time } from '../../components/time.tsx'
import { useSpend } from '../../components/use-spend.ts'
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
    params: { query: { offset, limit: pageSize, include_activity: true, ...search } },
  })
  const query = useQuery({ ...options, placeholderData: keepPreviousData })
  const readsAll = mayDoEverywhere(session, 'members:read')
  return (
    <Page
      title="Members"
      docs="sign-in#invite-people"
      description="The people in your organization and open invitations. Permissions come from roles and workspaces."
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
  const session = useSession()
  const { member: self } = session
  const spendOf = useSpend({ dimension: 'user', ids: members.map(({ id }) => id) })
  return (
    <DataTable
      rows={members}
      keyOf={({ id }) => id}
      minWidth={340}
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
        {
          header: 'Workspaces',
          breaksWords: true,
          maxWidth: 320,
          visibleFrom: 'sm',
          render: ({ workspaces = [] }) => <WorkspaceNames workspaces={workspaces} />,
        },
        { header: 'Spend, 30 days', isNumber: true, render: ({ id }) => <Money value={spendOf(id)} /> },
        mayDoEverywhere(session, 'sessions:read') && {
          header: 'Last seen',
          visibleFrom: 'sm',
          render: ({ last_seen_at }) => (last_seen_at ? <Time iso={last_seen_at} style="age" /> : '–'),
        },
      ]}
    />
  )
}

/** Names that fit in a row. */
const shownNames = 3

function WorkspaceNames({ workspaces }: { workspaces: { id: string; name: string }[] }) {
  if (workspaces.length === 0) return '–'
  const rest = workspaces.length - shownNames
  return (
    <>
      {workspaces.slice(0, shownNames).map(({ id, name }, index) => (
        <Fragment key={id}>
          {index > 0 && ', '}
          <TextLink to="/workspaces/$id" params={{ id }}>
            {name}
          </TextLink>
        </Fragment>
      ))}
      {rest > 0 && ` and ${rest}${workspaces.length < maxNamed ? '' : '+'} more`}
    </>
  )
}

/** The server names so many. */
const maxNamed = 10
