import { Accordion, Badge, Button, Code, Group, Stack, Text } from '@mantine/core'
import { keepPreviousData, useQuery, useQueryClient } from '@tanstack/react-query'
import { createLazyRoute } from '@tanstack/react-router'
import { useState } from 'react'
import { callOf } from '../../api/call.ts'
import { api, client, type Schemas } from '../../api/client.ts'
import { mayDoEverywhere, useSession } from '../../app/session.tsx'
import { ConfirmByName } from '../../components/confirm-by-name.tsx'
import { Id } from '../../components/copy.tsx'
import { Page } from '../../components/page.tsx'
import { Pager } from '../../components/pager.tsx'
import { QueryView } from '../../components/query-view.tsx'
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
  const [isCreating, setCreating] = useState(false)
  const options = api.queryOptions('get', '/roles', { params: { query: { offset, limit: pageSize } } })
  const query = useQuery({ ...options, placeholderData: keepPreviousData })
  return (
    <Page
      title="Roles"
      description="What people may do. Everybody has a role in the organization and one in each of their workspaces; further roles can be given to members one by one."
      calls={[callOf(options)]}
      actions={
        mayDoEverywhere(session, 'roles:write') && (
          <Button size="xs" onClick={() => setCreating(true)}>
            Create a role
          </Button>
        )
      }
    >
      <QueryView query={query}>
        {({ data, total_count }) => (
          <>
            <RoleList roles={data} />
            <Pager
              offset={offset}
              size={pageSize}
              total={total_count}
              onChange={(next) => void navigate({ search: next > 0 ? { offset: next } : {} })}
            />
            {isCreating && <RoleForm onClose={() => setCreating(false)} />}
          </>
        )}
      </QueryView>
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
  const queryClient = useQueryClient()
  const [open, setOpen] = useState<'edit' | 'delete' | null>(null)
  const close = () => setOpen(null)
  const remove = async () => {
    await client.DELETE('/roles/{id}', { params: { path: { id: role.id } } })
    await queryClient.invalidateQueries({ queryKey: ['get', '/roles'] })
  }
  return (
    <>
      <Button size="xs" variant="default" onClick={() => setOpen('edit')}>
        Edit
      </Button>
      <Button size="xs" variant="outline" color="red" onClick={() => setOpen('delete')}>
        Delete
      </Button>
      {open === 'edit' && <RoleForm role={role} onClose={close} />}
      {open === 'delete' && (
        <ConfirmByName
          title="Delete a role"
          name={role.name}
          action="Delete"
          onConfirm={remove}
          onClose={close}
        >
          A role that a member has cannot be deleted: remove it from them first.
        </ConfirmByName>
      )}
    </>
  )
}
