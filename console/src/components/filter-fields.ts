import type { CompletedField } from './filter-input.tsx'

/** The creator of a record, or who did something. */
export const memberField = {
  ...{ name: 'member', parameter: 'user_id', source: 'member' },
  ...{ idPattern: /^user_\w+$/, hint: 'Creator of the key' },
} as const satisfies CompletedField

export const workspaceField = {
  ...{ name: 'workspace', parameter: 'workspace_id', source: 'workspace' },
  ...{ idPattern: /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/, hint: 'Workspace of the key' },
} as const satisfies CompletedField
