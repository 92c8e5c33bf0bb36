CREATE TABLE `session` (
          `id` text PRIMARY KEY,
          `project_id` text NOT NULL,
          `workspace_id` text,
          `parent_id` text,
          `slug` text NOT NULL,
          `directory` text NOT NULL,
          `path` text,
          `title` text NOT NULL,
          `version` text NOT NULL,
          `share_url` text,
          `summary_additions` integer,
          `summary_deletions` integer,
          `summary_files` integer,
          `summary_diffs` text,
          `metadata` text,
          `cost` real DEFAULT 0 NOT NULL,
          `tokens_input` integer DEFAULT 0 NOT NULL,
          `tokens_output` integer DEFAULT 0 NOT NULL,
          `tokens_reasoning` integer DEFAULT 0 NOT NULL,
          `tokens_cache_read` integer DEFAULT 0 NOT NULL,
          `tokens_cache_write` integer DEFAULT 0 NOT NULL,
          `revert` text,
          `permission` text,
          `agent` text,
          `model` text,
          `time_created` integer NOT NULL,
          `time_updated` integer NOT NULL,
          `time_compacting` integer,
          `time_archived` integer,
          CONSTRAINT `fk_session_project_id_project_id_fk` FOREIGN KEY (`project_id`) REFERENCES `project`(`id`) ON DELETE CASCADE
        );
CREATE TABLE `message` (
          `id` text PRIMARY KEY,
          `session_id` text NOT NULL,
          `time_created` integer NOT NULL,
          `time_updated` integer NOT NULL,
          `data` text NOT NULL,
          CONSTRAINT `fk_message_session_id_session_id_fk` FOREIGN KEY (`session_id`) REFERENCES `session`(`id`) ON DELETE CASCADE
        );
CREATE TABLE `part` (
          `id` text PRIMARY KEY,
          `message_id` text NOT NULL,
          `session_id` text NOT NULL,
          `time_created` integer NOT NULL,
          `time_updated` integer NOT NULL,
          `data` text NOT NULL,
          CONSTRAINT `fk_part_message_id_message_id_fk` FOREIGN KEY (`message_id`) REFERENCES `message`(`id`) ON DELETE CASCADE
        );
INSERT INTO "message" VALUES('msg_20a129067001RS4SaeNbx5WRN4','ses_df5ed7866ffe2EFYf0VvJXrGy6',1795465318503,1795465339769,'{"role":"user","time":{"created":1795465318503},"agent":"build","model":{"providerID":"fake","modelID":"fake"},"summary":{"diffs":[]}}');
INSERT INTO "message" VALUES('msg_20a12b276001l5eZc1kfoaZv4J','ses_df5ed7866ffe2EFYf0VvJXrGy6',1795465327222,1795465339144,'{"parentID":"msg_20a129067001RS4SaeNbx5WRN4","role":"assistant","mode":"build","agent":"build","path":{"cwd":"/home/dev/project","root":"/"},"cost":0,"tokens":{"total":110,"input":100,"output":10,"reasoning":0,"cache":{"write":0,"read":0}},"modelID":"fake","providerID":"fake","time":{"created":1795465327222,"completed":1795465339120},"finish":"tool-calls"}');
INSERT INTO "message" VALUES('msg_20a12c279001zgzPF0rx4VkVOZ','ses_df5ed3df8ffexywgDTI3eJl3BR',1795465331329,1795465339601,'{"role":"user","time":{"created":1795465331329},"agent":"general","model":{"providerID":"fake","modelID":"fake"},"summary":{"diffs":[]}}');
INSERT INTO "message" VALUES('msg_20a12ce6e001xztgjTMKoY50JE','ses_df5ed3df8ffexywgDTI3eJl3BR',1795465334382,1795465338842,'{"parentID":"msg_20a12c279001zgzPF0rx4VkVOZ","role":"assistant","mode":"general","agent":"general","path":{"cwd":"/home/dev/project","root":"/"},"cost":0,"tokens":{"total":110,"input":100,"output":10,"reasoning":0,"cache":{"write":0,"read":0}},"modelID":"fake","providerID":"fake","time":{"created":1795465334382,"completed":1795465338795},"finish":"stop"}');
INSERT INTO "message" VALUES('msg_20a12e155001Gvor6VOyfQqehW','ses_df5ed7866ffe2EFYf0VvJXrGy6',1795465339221,1795465340596,'{"parentID":"msg_20a129067001RS4SaeNbx5WRN4","role":"assistant","mode":"build","agent":"build","path":{"cwd":"/home/dev/project","root":"/"},"cost":0,"tokens":{"total":110,"input":100,"output":10,"reasoning":0,"cache":{"write":0,"read":0}},"modelID":"fake","providerID":"fake","time":{"created":1795465339221,"completed":1795465340527},"finish":"stop"}');
INSERT INTO "part" VALUES('prt_20a129105001f7b35jzcjUV7GG','msg_20a129067001RS4SaeNbx5WRN4','ses_df5ed7866ffe2EFYf0VvJXrGy6',1795465327171,1795465327182,'{"type":"text","text":"\"[[part:main]] go\""}');
INSERT INTO "part" VALUES('prt_20a12c19b001z5qIH0q1RvzAZk','msg_20a12b276001l5eZc1kfoaZv4J','ses_df5ed7866ffe2EFYf0VvJXrGy6',1795465331099,1795465331104,'{"type":"step-start"}');
INSERT INTO "part" VALUES('prt_20a12c1a3001Y3O7nChNHoX3Ir','msg_20a12b276001l5eZc1kfoaZv4J','ses_df5ed7866ffe2EFYf0VvJXrGy6',1795465331107,1795465338985,'{"type":"tool","tool":"task","callID":"call_main_0_0","state":{"status":"completed","input":{"subagent_type":"general","description":"a","prompt":"[[part:a]] work"},"output":"<task id=\"ses_df5ed3df8ffexywgDTI3eJl3BR\" state=\"completed\">\n<task_result>\n\n</task_result>\n</task>","metadata":{"parentSessionId":"ses_df5ed7866ffe2EFYf0VvJXrGy6","sessionId":"ses_df5ed3df8ffexywgDTI3eJl3BR","model":{"modelID":"fake","providerID":"fake"},"truncated":false},"title":"a","time":{"start":1795465331262,"end":1795465338961}}}');
INSERT INTO "part" VALUES('prt_20a12c2bf001fHzHAEQ5wLzOiK','msg_20a12c279001zgzPF0rx4VkVOZ','ses_df5ed3df8ffexywgDTI3eJl3BR',1795465331424,1795465331425,'{"type":"text","text":"[[part:a]] work"}');
INSERT INTO "part" VALUES('prt_20a12def30017tn61wGxu5OUjD','msg_20a12ce6e001xztgjTMKoY50JE','ses_df5ed3df8ffexywgDTI3eJl3BR',1795465338611,1795465338625,'{"type":"step-start"}');
INSERT INTO "part" VALUES('prt_20a12df13001cWMAApEFUKONQ8','msg_20a12ce6e001xztgjTMKoY50JE','ses_df5ed3df8ffexywgDTI3eJl3BR',1795465338643,1795465338689,'{"reason":"stop","type":"step-finish","tokens":{"total":110,"input":100,"output":10,"reasoning":0,"cache":{"write":0,"read":0}},"cost":0}');
INSERT INTO "part" VALUES('prt_20a12e083001NZJE0OqJXuBx4j','msg_20a12b276001l5eZc1kfoaZv4J','ses_df5ed7866ffe2EFYf0VvJXrGy6',1795465339011,1795465339058,'{"reason":"tool-calls","type":"step-finish","tokens":{"total":110,"input":100,"output":10,"reasoning":0,"cache":{"write":0,"read":0}},"cost":0}');
INSERT INTO "part" VALUES('prt_20a12e59b001fSsMfxPclGzqMK','msg_20a12e155001Gvor6VOyfQqehW','ses_df5ed7866ffe2EFYf0VvJXrGy6',1795465340315,1795465340348,'{"type":"step-start"}');
INSERT INTO "part" VALUES('prt_20a12e5bd001VBn5047AK3tF8G','msg_20a12e155001Gvor6VOyfQqehW','ses_df5ed7866ffe2EFYf0VvJXrGy6',1795465340349,1795465340428,'{"type":"text","text":"Done without it.","time":{"start":1795465340349,"end":1795465340373}}');
INSERT INTO "part" VALUES('prt_20a12e60e001hLSV3tvzO5eKHV','msg_20a12e155001Gvor6VOyfQqehW','ses_df5ed7866ffe2EFYf0VvJXrGy6',1795465340430,1795465340431,'{"reason":"stop","type":"step-finish","tokens":{"total":110,"input":100,"output":10,"reasoning":0,"cache":{"write":0,"read":0}},"cost":0}');
INSERT INTO "session" VALUES('ses_df5ed7866ffe2EFYf0VvJXrGy6','global',NULL,NULL,'shiny-wizard','/home/dev/project','home/dev/project','ok','1.18.33',NULL,0,0,0,NULL,NULL,0.0,200,20,0,0,0,NULL,'[{"permission":"question","pattern":"*","action":"deny"},{"permission":"plan_enter","pattern":"*","action":"deny"},{"permission":"plan_exit","pattern":"*","action":"deny"}]','build','{"id":"fake","providerID":"fake","variant":"default"}',1795465316249,1795465341010,NULL,NULL);
INSERT INTO "session" VALUES('ses_df5ed3df8ffexywgDTI3eJl3BR','global',NULL,'ses_df5ed7866ffe2EFYf0VvJXrGy6','happy-engine','/home/dev/project','home/dev/project','a (@general subagent)','1.18.33',NULL,0,0,0,NULL,NULL,0.0,100,10,0,0,0,NULL,'[{"permission":"question","pattern":"*","action":"deny"},{"permission":"plan_enter","pattern":"*","action":"deny"},{"permission":"plan_exit","pattern":"*","action":"deny"},{"permission":"task","pattern":"*","action":"deny"}]','general','{"id":"fake","providerID":"fake","variant":"default"}',1795465331207,1795465339541,NULL,NULL);
