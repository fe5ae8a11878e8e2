/** Whose spending is metered, by the name of its meter. */
export const meterSubjects = {
  organization: (id: string) => `organization:${id}`,
  workspace: (id: string) => `workspace:${id}`,
  key: (id: number) => `key:${id}`,
  /** What the keys of one member spend in one workspace. */
  member: (workspaceId: string, userId: string) => `member:${workspaceId}:${userId}`,
}
