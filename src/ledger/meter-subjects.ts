/** The names of meters, by what they count for. */
export const meterSubjects = {
  organization: (id: string) => `organization:${id}`,
  /** Requests to free variants of all organizations of one owner, by a hash. */
  owner: (hash: string) => `owner:${hash}`,
  workspace: (id: string) => `workspace:${id}`,
  key: (id: number) => `key:${id}`,
  /** Spending of one member's keys in one workspace. */
  member: (workspaceId: string, userId: string) => `member:${workspaceId}:${userId}`,
  /** Spending of one member's keys in all workspaces. Counted while the member has a limit. */
  memberTotal: (userId: string) => `member_total:${userId}`,
  /** Spending that a declared limit counts, by what it counts separately. */
  limit: (id: string, counter: string) => (counter === '' ? `limit:${id}` : `limit:${id}:${counter}`),
}
