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
INSERT INTO "message" VALUES('msg_20a11d8df001aarWAHJY9yp3Xh','ses_df5ee314affeum85mvoWEamEL2',1795465271519,1795465279423,'{"role":"user","time":{"created":1795465271519},"agent":"build","model":{"providerID":"fake","modelID":"fake"},"summary":{"diffs":[]}}');
INSERT INTO "message" VALUES('msg_20a11f348001yXiOxb7f0x9wnK','ses_df5ee314affeum85mvoWEamEL2',1795465278280,1795465298856,'{"parentID":"msg_20a11d8df001aarWAHJY9yp3Xh","role":"assistant","mode":"build","agent":"build","path":{"cwd":"/home/dev/project","root":"/"},"cost":0,"tokens":{"total":110,"input":100,"output":10,"reasoning":0,"cache":{"write":0,"read":0}},"modelID":"fake","providerID":"fake","time":{"created":1795465278280,"completed":1795465298815},"finish":"tool-calls"}');
INSERT INTO "message" VALUES('msg_20a1221c6001lNo3n9nMdJnCPk','ses_df5eddf12ffeCzGU7T1bzPdhoA',1795465290183,1795465297949,'{"role":"user","time":{"created":1795465290183},"agent":"general","model":{"providerID":"fake","modelID":"fake"},"summary":{"diffs":[]}}');
INSERT INTO "message" VALUES('msg_20a1223d9001rwrWlyF7Al1I2o','ses_df5eddcaaffe3GWId8puoLiIjz',1795465290714,1795465293713,'{"role":"user","time":{"created":1795465290714},"agent":"general","model":{"providerID":"fake","modelID":"fake"},"summary":{"diffs":[]}}');
INSERT INTO "message" VALUES('msg_20a12255200113wjLUO6vuQRFT','ses_df5eddf12ffeCzGU7T1bzPdhoA',1795465291090,1795465297321,'{"parentID":"msg_20a1221c6001lNo3n9nMdJnCPk","role":"assistant","mode":"general","agent":"general","path":{"cwd":"/home/dev/project","root":"/"},"cost":0,"tokens":{"total":110,"input":100,"output":10,"reasoning":0,"cache":{"write":0,"read":0}},"modelID":"fake","providerID":"fake","time":{"created":1795465291090,"completed":1795465297320},"finish":"tool-calls"}');
INSERT INTO "message" VALUES('msg_20a122581001n8vioJmg2hamXE','ses_df5eddcaaffe3GWId8puoLiIjz',1795465291137,1795465293176,'{"parentID":"msg_20a1223d9001rwrWlyF7Al1I2o","role":"assistant","mode":"general","agent":"general","path":{"cwd":"/home/dev/project","root":"/"},"cost":0,"tokens":{"total":110,"input":100,"output":10,"reasoning":0,"cache":{"write":0,"read":0}},"modelID":"fake","providerID":"fake","time":{"created":1795465291137,"completed":1795465293149},"finish":"stop"}');
INSERT INTO "message" VALUES('msg_20a123e710015bAJySM51119RU','ses_df5eddf12ffeCzGU7T1bzPdhoA',1795465297521,1795465298652,'{"parentID":"msg_20a1221c6001lNo3n9nMdJnCPk","role":"assistant","mode":"general","agent":"general","path":{"cwd":"/home/dev/project","root":"/"},"cost":0,"tokens":{"total":110,"input":100,"output":10,"reasoning":0,"cache":{"write":0,"read":0}},"modelID":"fake","providerID":"fake","time":{"created":1795465297521,"completed":1795465298626},"finish":"stop"}');
INSERT INTO "message" VALUES('msg_20a1243ab001dYNA1upEyj14SN','ses_df5ee314affeum85mvoWEamEL2',1795465298877,1795465298988,'{"parentID":"msg_20a11d8df001aarWAHJY9yp3Xh","role":"assistant","mode":"build","agent":"build","path":{"cwd":"/home/dev/project","root":"/"},"cost":0,"tokens":{"total":110,"input":100,"output":10,"reasoning":0,"cache":{"write":0,"read":0}},"modelID":"fake","providerID":"fake","time":{"created":1795465298877,"completed":1795465298979},"finish":"stop"}');
INSERT INTO "part" VALUES('prt_20a11d9b5001HAKO8pHM9sATS0','msg_20a11d8df001aarWAHJY9yp3Xh','ses_df5ee314affeum85mvoWEamEL2',1795465278082,1795465278085,'{"type":"text","text":"\"[[part:main]] go\""}');
INSERT INTO "part" VALUES('prt_20a121f83001K9ZH5QAu4qOw53','msg_20a11f348001yXiOxb7f0x9wnK','ses_df5ee314affeum85mvoWEamEL2',1795465289603,1795465289671,'{"type":"step-start"}');
INSERT INTO "part" VALUES('prt_20a121fda0018Ijjh7Rpy67Y5R','msg_20a11f348001yXiOxb7f0x9wnK','ses_df5ee314affeum85mvoWEamEL2',1795465289690,1795465298726,'{"type":"tool","tool":"task","callID":"call_main_0_0","state":{"status":"completed","input":{"subagent_type":"general","description":"a","prompt":"[[part:a]] work"},"output":"<task id=\"ses_df5eddf12ffeCzGU7T1bzPdhoA\" state=\"completed\">\n<task_result>\nresult a\n</task_result>\n</task>","metadata":{"parentSessionId":"ses_df5ee314affeum85mvoWEamEL2","sessionId":"ses_df5eddf12ffeCzGU7T1bzPdhoA","model":{"modelID":"fake","providerID":"fake"},"truncated":false},"title":"a","time":{"start":1795465290060,"end":1795465298725}}}');
INSERT INTO "part" VALUES('prt_20a122233001ZMp1jP1sn5e7f6','msg_20a1221c6001lNo3n9nMdJnCPk','ses_df5eddf12ffeCzGU7T1bzPdhoA',1795465290299,1795465290380,'{"type":"text","text":"[[part:a]] work"}');
INSERT INTO "part" VALUES('prt_20a122311001rDumBeGg0RBAHs','msg_20a11f348001yXiOxb7f0x9wnK','ses_df5ee314affeum85mvoWEamEL2',1795465290513,1795465293342,'{"type":"tool","tool":"task","callID":"call_main_0_1","state":{"status":"completed","input":{"subagent_type":"general","description":"b","prompt":"[[part:b]] work"},"output":"<task id=\"ses_df5eddcaaffe3GWId8puoLiIjz\" state=\"completed\">\n<task_result>\nresult b\n</task_result>\n</task>","metadata":{"parentSessionId":"ses_df5ee314affeum85mvoWEamEL2","sessionId":"ses_df5eddcaaffe3GWId8puoLiIjz","model":{"modelID":"fake","providerID":"fake"},"truncated":false},"title":"b","time":{"start":1795465290658,"end":1795465293340}}}');
INSERT INTO "part" VALUES('prt_20a122431001ifZ5I5e31mT6lQ','msg_20a1223d9001rwrWlyF7Al1I2o','ses_df5eddcaaffe3GWId8puoLiIjz',1795465290822,1795465290823,'{"type":"text","text":"[[part:b]] work"}');
INSERT INTO "part" VALUES('prt_20a122bba0011XozLoEaBsrU4d','msg_20a122581001n8vioJmg2hamXE','ses_df5eddcaaffe3GWId8puoLiIjz',1795465292730,1795465292790,'{"type":"step-start"}');
INSERT INTO "part" VALUES('prt_20a122c18001jrvUnE2PyUNsV1','msg_20a122581001n8vioJmg2hamXE','ses_df5eddcaaffe3GWId8puoLiIjz',1795465292825,1795465292957,'{"type":"text","text":"result b","time":{"start":1795465292824,"end":1795465292937}}');
INSERT INTO "part" VALUES('prt_20a122cb6001JKffxEKBznqtij','msg_20a122581001n8vioJmg2hamXE','ses_df5eddcaaffe3GWId8puoLiIjz',1795465292982,1795465293041,'{"reason":"stop","type":"step-finish","tokens":{"total":110,"input":100,"output":10,"reasoning":0,"cache":{"write":0,"read":0}},"cost":0}');
INSERT INTO "part" VALUES('prt_20a122e4d0017lTryfZgeTV9l2','msg_20a12255200113wjLUO6vuQRFT','ses_df5eddf12ffeCzGU7T1bzPdhoA',1795465293389,1795465293391,'{"type":"step-start"}');
INSERT INTO "part" VALUES('prt_20a122e8f001g3Qngv54c4u4I0','msg_20a12255200113wjLUO6vuQRFT','ses_df5eddf12ffeCzGU7T1bzPdhoA',1795465293484,1795465297013,'{"type":"tool","tool":"bash","callID":"call_a_0_0","state":{"status":"completed","input":{"command":"echo hi","description":"greets"},"output":"hi\n","metadata":{"output":"hi\n","exit":0,"truncated":false},"title":"echo hi","time":{"start":1795465293566,"end":1795465296949}}}');
INSERT INTO "part" VALUES('prt_20a123cc6001CxCMtB6uJdj4yB','msg_20a12255200113wjLUO6vuQRFT','ses_df5eddf12ffeCzGU7T1bzPdhoA',1795465297094,1795465297179,'{"reason":"tool-calls","type":"step-finish","tokens":{"total":110,"input":100,"output":10,"reasoning":0,"cache":{"write":0,"read":0}},"cost":0}');
INSERT INTO "part" VALUES('prt_20a12424b001J42ygWW6Vc2xTW','msg_20a123e710015bAJySM51119RU','ses_df5eddf12ffeCzGU7T1bzPdhoA',1795465298508,1795465298509,'{"type":"step-start"}');
INSERT INTO "part" VALUES('prt_20a12424e001I9oOkEEn1LG6gB','msg_20a123e710015bAJySM51119RU','ses_df5eddf12ffeCzGU7T1bzPdhoA',1795465298511,1795465298572,'{"type":"text","text":"result a","time":{"start":1795465298510,"end":1795465298550}}');
INSERT INTO "part" VALUES('prt_20a1242a00010xtlh0XsAAX73u','msg_20a123e710015bAJySM51119RU','ses_df5eddf12ffeCzGU7T1bzPdhoA',1795465298592,1795465298593,'{"reason":"stop","type":"step-finish","tokens":{"total":110,"input":100,"output":10,"reasoning":0,"cache":{"write":0,"read":0}},"cost":0}');
INSERT INTO "part" VALUES('prt_20a12435a001euYFzTwKX5NCyB','msg_20a11f348001yXiOxb7f0x9wnK','ses_df5ee314affeum85mvoWEamEL2',1795465298778,1795465298788,'{"reason":"tool-calls","type":"step-finish","tokens":{"total":110,"input":100,"output":10,"reasoning":0,"cache":{"write":0,"read":0}},"cost":0}');
INSERT INTO "part" VALUES('prt_20a1243f400101zT1czCsxDK4Q','msg_20a1243ab001dYNA1upEyj14SN','ses_df5ee314affeum85mvoWEamEL2',1795465298933,1795465298934,'{"type":"step-start"}');
INSERT INTO "part" VALUES('prt_20a1243f7001S5dKBuENgQ7exa','msg_20a1243ab001dYNA1upEyj14SN','ses_df5ee314affeum85mvoWEamEL2',1795465298935,1795465298938,'{"type":"text","text":"All done.","time":{"start":1795465298935,"end":1795465298937}}');
INSERT INTO "part" VALUES('prt_20a1243fb0012WhCfxW20K5dPK','msg_20a1243ab001dYNA1upEyj14SN','ses_df5ee314affeum85mvoWEamEL2',1795465298939,1795465298953,'{"reason":"stop","type":"step-finish","tokens":{"total":110,"input":100,"output":10,"reasoning":0,"cache":{"write":0,"read":0}},"cost":0}');
INSERT INTO "session" VALUES('ses_df5ee314affeum85mvoWEamEL2','global',NULL,NULL,'cosmic-nebula','/home/dev/project','home/dev/project','ok','1.18.33',NULL,0,0,0,NULL,NULL,0.0,200,20,0,0,0,NULL,'[{"permission":"question","pattern":"*","action":"deny"},{"permission":"plan_enter","pattern":"*","action":"deny"},{"permission":"plan_exit","pattern":"*","action":"deny"}]','build','{"id":"fake","providerID":"fake","variant":"default"}',1795465268917,1795465299239,NULL,NULL);
INSERT INTO "session" VALUES('ses_df5eddf12ffeCzGU7T1bzPdhoA','global',NULL,'ses_df5ee314affeum85mvoWEamEL2','silent-planet','/home/dev/project','home/dev/project','a (@general subagent)','1.18.33',NULL,0,0,0,NULL,NULL,0.0,200,20,0,0,0,NULL,'[{"permission":"question","pattern":"*","action":"deny"},{"permission":"plan_enter","pattern":"*","action":"deny"},{"permission":"plan_exit","pattern":"*","action":"deny"},{"permission":"task","pattern":"*","action":"deny"}]','general','{"id":"fake","providerID":"fake","variant":"default"}',1795465289965,1795465299165,NULL,NULL);
INSERT INTO "session" VALUES('ses_df5eddcaaffe3GWId8puoLiIjz','global',NULL,'ses_df5ee314affeum85mvoWEamEL2','clever-panda','/home/dev/project','home/dev/project','b (@general subagent)','1.18.33',NULL,0,0,0,NULL,NULL,0.0,100,10,0,0,0,NULL,'[{"permission":"question","pattern":"*","action":"deny"},{"permission":"plan_enter","pattern":"*","action":"deny"},{"permission":"plan_exit","pattern":"*","action":"deny"},{"permission":"task","pattern":"*","action":"deny"}]','general','{"id":"fake","providerID":"fake","variant":"default"}',1795465290581,1795465293686,NULL,NULL);
