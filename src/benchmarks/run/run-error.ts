/** A run that cannot start or go on; the message is for the operator. */
export class RunError extends Error {}
