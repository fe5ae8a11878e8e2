import { Textarea } from '@mantine/core'
import { useState } from 'react'
import { client, type Schemas } from '../../api/client.ts'
import { useRefresh } from '../../api/use-refresh.ts'
import { type Permission, useSession } from '../../app/session.tsx'
import { FormDialog } from '../../components/form-dialog.tsx'
import { NameField } from '../../components/text-field.tsx'
import { PermissionPicker } from './permission-picker.tsx'

type Role = Schemas['Role']

/** Permissions that are useful for the records of one person. */
const ownPermissions = [
  'keys:read',
  'keys:write',
  'activity:read',
  'generations:read',
  'generations:write',
  'contents:read',
] as const

type OwnPermission = (typeof ownPermissions)[number]

interface RoleFormProps {
  /** The role to edit; without one, a new role is created. */
  role?: Role
  onClose: () => void
}

export function RoleForm({ role, onClose }: RoleFormProps) {
  const refresh = useRefresh()
  const session = useSession()
  const [name, setName] = useState(role?.name ?? '')
  const [description, setDescription] = useState(role?.description ?? '')
  const [permissions, setPermissions] = useState<Permission[]>(role?.permissions ?? [])
  const [own, setOwn] = useState<OwnPermission[]>(
    ownPermissions.filter((permission) => role?.own_permissions.includes(permission)),
  )
  const save = async () => {
    const fields = { name: name.trim(), description: description.trim() || null, permissions }
    const body = { ...fields, own_permissions: own }
    if (role) await client.PATCH('/roles/{id}', { params: { path: { id: role.id } }, body })
    else await client.POST('/roles', { body })
    await refresh('/roles')
  }
  return (
    <FormDialog
      title={role ? `Edit ${role.name}` : 'Create a role'}
      action={role ? 'Save for everyone who has it' : 'Create'}
      isReady={name.trim() !== '' && permissions.length + own.length > 0}
      size="lg"
      onSubmit={save}
      onClose={onClose}
    >
      <NameField value={name} onChange={setName} />
      <Textarea
        label="Description"
        maxLength={500}
        autosize
        value={description}
        onChange={(event) => setDescription(event.currentTarget.value)}
      />
      <PermissionPicker
        label="Permissions"
        description="You can grant only permissions that you have."
        offered={[...new Set([...session.permissions, ...permissions])]}
        chosen={permissions}
        onChange={setPermissions}
      />
      <PermissionPicker
        label="Limit to records they created"
        description="For example the keys that they created, but no others."
        offered={[...ownPermissions]}
        chosen={own}
        onChange={setOwn}
      />
    </FormDialog>
  )
}
