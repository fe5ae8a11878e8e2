import { Accordion, Badge, Code, Group, Stack, Text } from '@mantine/core'
import { keepPreviousData, useQuery } from '@tanstack/react-query'
import { createLazyRoute } from '@tanstack/react-router'
import { callOf } from '../../api/call.ts'
import { api, client, type Schemas } from '../../api/client.ts'
import { useRefresh } from '../../api/use-refresh.ts'
import { writeOffset } from '../../app/search-params.ts'
import { mayDoEverywhere, useSession } from '../../app/session.tsx'
import { ConfirmByName } from '../../components/confirm-by-name.tsx'
import { Id } from '../../components/copy.tsx'
import { DialogButton } from '../../components/dialog-button.tsx'
import { EmptyState } from '../../components/empty-state.tsx'
import { ManagedBadge } from '../../components/managed.tsx'
import { Page } from '../../components/page.tsx'
import { PagedList } from '../../components/paged-list.tsx'
import { TextLink } from '../../components/text-link.tsx'
import { formatCount } from '../../format/number.ts'
import { groupPermissions } from './permission-groups.ts'
import { RoleForm } from './role-form.tsx'

export const screen = createLazyRoute('/roles')({ component: RolesScreen })

type Role = Schemas['Role']

const pageSize = 50

function RolesScreen() {
  const session = useSession()
  const { offset = 0 } = screen.useSearch()
  const navigate = screen.useNavigate()
  const options = api.queryOptions('get', '/roles', { params: { query: { offset, limit: pageSize } } })
  const query = useQuery({ ...options, placeholderData: keepPreviousData })
  return (
    <Page
      title="Roles"
      docs="permissions"
      description="Roles define permissions. Members have a role in the organization and in each of their workspaces, and can have additional roles."
      calls={[callOf(options)]}
      actions={
        mayDoEverywhere(session, 'roles:write') && (
          <DialogButton label="Create a role" action="create">
            {(close) => <RoleForm onClose={close} />}
          </DialogButton>
        )
      }
    >
      <PagedList
        query={query}
        offset={offset}
        size={pageSize}
        onPage={(next) => void navigate({ search: writeOffset(next) })}
        empty={
          <EmptyState title="No roles on this page">
            <TextLink to="/roles">Go to the first page</TextLink>
          </EmptyState>
        }
      >
        {(rows) => <RoleList roles={rows} />}
      </PagedList>
    </Page>
  )
}

function RoleList({ roles }: { roles: Role[] }) {
  return (
    <Accordion variant="separated" multiple order={2}>
      {roles.map((role) => (
        <Accordion.Item key={role.id} value={role.id}>
          <Accordion.Control>
            <Group gap="xs">
              <Text fw={600} style={{ overflowWrap: 'anywhere' }}>
                {role.name}
              </Text>
              <ManagedBadge record={role} />
              {role.is_built_in && (
                <Badge variant="light" color="gray" tt="none">
                  built in
                </Badge>
              )}
              <Text size="sm" c="dimmed">
                {formatCount(role.permissions.length + role.own_permissions.length)} permissions
              </Text>
            </Group>
            <Text size="sm" style={{ overflowWrap: 'anywhere' }}>
              {role.description}
            </Text>
          </Accordion.Control>
          <Accordion.Panel>
            <RoleDetails role={role} />
          </Accordion.Panel>
        </Accordion.Item>
      ))}
    </Accordion>
  )
}

function RoleDetails({ role }: { role: Role }) {
  const mayChange = mayDoEverywhere(useSession(), 'roles:write') && !role.is_built_in
  return (
    <Stack gap="sm">
      <Group gap="sm">
        <Id value={role.id} />
        {mayChange && <RoleActions role={role} />}
      </Group>
      <PermissionList permissions={role.permissions} />
      {role.own_permissions.length > 0 && (
        <>
          <Text size="sm" fw={600}>
            Only for what the person created
          </Text>
          <PermissionList permissions={role.own_permissions} />
        </>
      )}
    </Stack>
  )
}

function PermissionList({ permissions }: { permissions: Role['permissions'] }) {
  return (
    <Stack gap={6}>
      {groupPermissions(permissions).map((group) => (
        <Group key={group.label} gap="xs" align="baseline">
          <Text size="sm" w={230}>
            {group.label}
          </Text>
          {group.permissions.map((permission) => (
            <Code key={permission}>{permission}</Code>
          ))}
        </Group>
      ))}
    </Stack>
  )
}

function RoleActions({ role }: { role: Role }) {
  const refresh = useRefresh()
  const remove = async () => {
    await client.DELETE('/roles/{id}', { params: { path: { id: role.id } } })
    await refresh('/roles')
  }
  return (
    <>
      <DialogButton label="Edit" variant="default">
        {(close) => <RoleForm role={role} onClose={close} />}
      </DialogButton>
      <DialogButton label="Delete" variant="outline" color="red">
        {(close) => (
          <ConfirmByName
            title="Delete a role"
            name={role.name}
            action="Delete"
            onConfirm={remove}
            onClose={close}
          >
            Remove the role from all members before deleting it.
          </ConfirmByName>
        )}
      </DialogButton>
    </>
  )
}
